/** Tells people and monitors how the daemon does. No method rejects or takes long; a failure is logged. */
export interface Notifier {
  /** Tells people, in plain text, that the state has changed. */
  tell(message: string): Promise<void>;
  /** Tells a monitor that a sync has reached its end. The monitor raises the alarm if it hears nothing. */
  beat(): Promise<void>;
  /** The addresses that got nothing when something was last sent to them. */
  readonly unreached: readonly Unreached[];
  /** When each address of the config, by its key, last got something; null if it got nothing yet. */
  readonly reachedAt: Readonly<Partial<Record<NotifyKey, Date | null>>>;
}

/** The key in the config. The address itself is a secret. */
type NotifyKey = "notify.webhook" | "notify.heartbeat";

export interface Unreached {
  readonly key: NotifyKey;
  /** When the first of the failures in a row was. */
  readonly since: Date;
  readonly message: string;
}
