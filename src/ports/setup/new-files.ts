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
