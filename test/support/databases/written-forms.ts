/** The forms in which a secret can be written: as it is, in JSON, in a url, in base64 and in hexadecimal. */
export const writtenForms = (secret: string): string[] => [
  secret,
  JSON.stringify(secret).slice(1, -1),
  encodeURIComponent(secret),
  Buffer.from(secret).toString("base64"),
  Buffer.from(secret).toString("base64url"),
  Buffer.from(secret).toString("hex"),
];
