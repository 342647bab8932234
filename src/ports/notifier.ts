/** Tells people and monitors how the daemon does. No method rejects or takes long; a failure is logged. */
export interface Notifier {
  /** Tells people, in plain text, that the state has changed. */
  tell(message: string): Promise<void>;
  /** Tells a monitor that a sync has reached its end. The monitor raises the alarm if it hears nothing. */
  beat(): Promise<void>;
  /** The addresses that got nothing when something was last sent to them. */
  readonly unreached: readonly Unreached[];
}

export interface Unreached {
  /** The key in the config. The address itself is a secret. */
  readonly key: "notify.webhook" | "notify.heartbeat";
  /** When the first of the failures in a row was. */
  readonly since: Date;
  readonly message: string;
}
