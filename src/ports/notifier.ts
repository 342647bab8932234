/** Tells people and monitors outside how the daemon does. Neither method rejects, or takes long: what fails is logged. */
export interface Notifier {
  /** To people, in plain text: the state has changed. */
  tell(message: string): Promise<void>;
  /** To a monitor that raises the alarm when it hears nothing: a sync has reached its end. */
  beat(): Promise<void>;
}
