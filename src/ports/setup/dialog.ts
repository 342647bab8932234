/** Something to choose. `hint` is shown beside the option that is pointed at. */
export interface DialogOption {
  readonly value: string;
  readonly hint?: string;
}

/** What is wrong with an answer; undefined if nothing is. */
export type AnswerProblem = (answer: string) => string | undefined;

/** A person at a terminal. Every question rejects with INTERRUPTED if the person cancels it, or the process is told to stop. */
export interface Dialog {
  /** `preset` is the value of the option that is pointed at first. */
  choose(question: string, options: readonly DialogOption[], preset: string): Promise<string>;
  chooseSome(
    question: string,
    options: readonly DialogOption[],
    preset: readonly string[],
  ): Promise<readonly string[]>;
  /** The answer may be empty. `example` is shown as long as nothing is typed. */
  ask(question: string, example: string, problem: AnswerProblem): Promise<string>;
  /** Shows no character of the answer. */
  askSecret(question: string, problem: AnswerProblem): Promise<string>;
  confirm(question: string): Promise<boolean>;
}
