export interface SharedClientOptions<Client> {
  /** Logs in. `last` is the client whose login was refused. */
  readonly connect: (last?: Client) => Promise<Client>;
  /** Whether a call failed because its login was refused, or has expired. */
  readonly isLoginFailure: (error: unknown) => boolean;
  readonly close?: (client: Client) => void | Promise<void>;
}

/** One client for all calls to a store: made with the first of them, and anew where its login is refused. */
export class SharedClient<Client> {
  readonly #options: SharedClientOptions<Client>;
  #current: Promise<Client> | undefined;
  /** Until the end: others may still be calling with one that was replaced. */
  readonly #made = new Set<Client>();

  constructor(options: SharedClientOptions<Client>) {
    this.#options = options;
  }

  /** Where the login is refused the call is made once more, with another one. Rejects as the call or `connect` did. */
  async call<T>(work: (client: Client) => Promise<T>): Promise<T> {
    const current = this.#connected();
    const client = await current;
    try {
      return await work(client);
    } catch (error) {
      if (!this.#options.isLoginFailure(error)) throw error;
      // Of several calls that are refused at once the first brings the new one.
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
      // Whoever comes next tries it again.
      this.#current = undefined;
      throw error;
    }
  }
}
