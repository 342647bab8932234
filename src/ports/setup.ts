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
  /** The answer may be empty. `example` is shown as long as nothing is typed. */
  ask(question: string, example: string, problem: AnswerProblem): Promise<string>;
  /** Shows no character of the answer. */
  askSecret(question: string, problem: AnswerProblem): Promise<string>;
}

export interface NewFile {
  readonly path: string;
  readonly text: string;
}

/** Makes files, and never changes one that is there. */
export interface NewFiles {
  /** Those of the paths at which something is already. Throws CONFIG_NOT_WRITTEN if no file can be made at one of them. */
  existing(paths: readonly string[]): readonly string[];
  /** Makes all of the files or none. Throws CONFIG_NOT_WRITTEN, also if one of them is there already. */
  create(files: readonly NewFile[]): void;
}
