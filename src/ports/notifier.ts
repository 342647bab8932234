/** Tells people and monitors how the daemon does. No method rejects or takes long; a failure is logged. */
export interface Notifier {
  /** Tells people, in plain text, that the state has changed. */
  tell(message: string): Promise<void>;
  /** Tells a monitor that a sync has reached its end. The monitor raises the alarm if it hears nothing. */
  beat(): Promise<void>;
}
