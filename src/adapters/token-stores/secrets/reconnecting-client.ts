interface ReconnectingClientOptions<Client> {
  /** Logs in. `last` is the former client, if its login was refused. */
  readonly connect: (last?: Client) => Promise<Client>;
  /** Whether a call failed because the login was refused or has expired. */
  readonly isLoginFailure: (error: unknown) => boolean;
  readonly close?: (client: Client) => void | Promise<void>;
}

/** One client for all calls to a store: made at the first call, and replaced if its login is refused. */
export class ReconnectingClient<Client> {
  readonly #options: ReconnectingClientOptions<Client>;
  #current: Promise<Client> | undefined;
  /** Closed at the end only: calls may still use a client that was replaced. */
  readonly #made = new Set<Client>();

  constructor(options: ReconnectingClientOptions<Client>) {
    this.#options = options;
  }

  /** If the login is refused, repeats the call once with a new client. Rejects as the call or `connect` did. */
  async call<T>(work: (client: Client) => Promise<T>): Promise<T> {
    const current = this.#connected();
    const client = await current;
    try {
      return await work(client);
    } catch (error) {
      if (!this.#options.isLoginFailure(error)) throw error;
      // If several calls are refused at once, only the first makes a new client.
      if (this.#current === current) this.#current = undefined;
      return await work(await this.#connected(client));
    }
  }

  async close(): Promise<void> {
    await this.#current?.catch(() => {});
    this.#current = undefined;
    const { close = () => {} } = this.#options;
    await Promise.all([...this.#made].map((client) => close(client)));
    this.#made.clear();
  }

  #connected(last?: Client): Promise<Client> {
    this.#current ??= this.#connect(last);
    return this.#current;
  }

  async #connect(last: Client | undefined): Promise<Client> {
    try {
      const client = await this.#options.connect(last);
      this.#made.add(client);
      return client;
    } catch (error) {
      // The next call tries to connect again.
      this.#current = undefined;
      throw error;
    }
  }
}
