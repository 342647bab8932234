/** One word of a shell command that an operator may copy, whatever the text holds. */
export const shellQuoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
