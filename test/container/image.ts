import { cpSync, lchownSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { contextOf } from "./context.ts";
import { commandOf, expand, type Instruction, pairsOf, parseDockerfile } from "./dockerfile.ts";
import { layBase, type Mount, runInRoot } from "./machine.ts";

/** The result of building a Dockerfile. */
export interface Image {
  /** The folder with its root filesystem, without the files of the base image. */
  readonly root: string;
  readonly base: string;
  readonly env: Readonly<Record<string, string>>;
  readonly workdir: string;
  readonly user: string;
  readonly entrypoint: readonly string[];
  readonly cmd: readonly string[];
  readonly healthcheck: readonly string[];
  readonly stopSignal: string;
  readonly labels: Readonly<Record<string, string>>;
}

export interface BuildOptions {
  /** The folder with Dockerfile and .dockerignore. */
  readonly context: string;
  /** An empty folder for the stages. */
  readonly folder: string;
  /** `--build-arg`. */
  readonly args?: Readonly<Record<string, string>>;
  /** Images that FROM may name. Any other name is the base image. */
  readonly images?: Readonly<Record<string, Image>>;
  /** What RUN gets from the machine and the image doesn't keep: a cache, and the access to a registry. */
  readonly mounts: readonly Mount[];
  readonly env: Readonly<Record<string, string>>;
}

/** An image whose build goes on. */
type Stage = { -readonly [Key in keyof Image]: Image[Key] } & {
  readonly name: string;
  readonly variables: Map<string, string>;
};

/**
 * Builds a Dockerfile instruction by instruction, without a container engine. Each stage is a folder, and RUN runs with
 * this folder as its root filesystem. This machine with its Node.js takes the place of the base image. An unknown
 * instruction is an error. There are no layers and no cache.
 */
export async function buildImage(options: BuildOptions): Promise<Image> {
  // Use a builder's umask instead of the umask of the tests.
  const umask = process.umask(0o022);
  try {
    return await build(options);
  } finally {
    process.umask(umask);
  }
}

async function build(options: BuildOptions): Promise<Image> {
  const stages: Stage[] = [];
  const globals = new Map<string, string>();
  for (const instruction of parseDockerfile(readFileSync(join(options.context, "Dockerfile"), "utf8"))) {
    refuseFlags(instruction);
    const stage = stages.at(-1);
    if (instruction.name === "FROM") {
      stages.push(newStage(instruction, globals, options, stages.length));
    } else if (stage) {
      await carryOut(instruction, stage, stages, options);
    } else {
      declare(instruction, globals, options);
    }
  }
  const last = stages.at(-1);
  if (!last) throw new Error("the Dockerfile has no FROM");
  return last;
}

/** Other flags than these need BuildKit, which Docker's classic builder and older builders don't have. */
const FLAGS: Readonly<Record<string, readonly string[]>> = {
  COPY: ["from"],
  HEALTHCHECK: ["interval", "timeout", "start-period", "retries"],
};

function refuseFlags({ line, name, flags }: Instruction): void {
  const unknown = [...flags.keys()].find((flag) => !FLAGS[name]?.includes(flag));
  if (unknown !== undefined) throw new Error(`line ${line}: --${unknown} is not understood`);
}

function newStage(
  { text }: Instruction,
  globals: ReadonlyMap<string, string>,
  { folder, images }: BuildOptions,
  number: number,
): Stage {
  const [image = "", , name = ""] = text.split(/\s+/);
  const base = expand(image, globals);
  const root = join(folder, `stage-${number}`);
  const from = images?.[base];
  if (from) {
    cpSync(from.root, root, { recursive: true, verbatimSymlinks: true });
    giveToRoot(root);
    return { ...from, name, root, base, variables: new Map(Object.entries(from.env)) };
  }
  layBase(root);
  return {
    ...{ name, root, base, variables: new Map(), env: {}, labels: {} },
    ...{ workdir: "/", user: "", entrypoint: [], cmd: [], healthcheck: [], stopSignal: "" },
  };
}

async function carryOut(
  instruction: Instruction,
  stage: Stage,
  stages: readonly Stage[],
  options: BuildOptions,
): Promise<void> {
  const text = instruction.text;
  switch (instruction.name) {
    case "ARG":
      return declare(instruction, stage.variables, options);
    case "ENV":
      for (const [name, value] of pairsOf(text, stage.variables)) {
        stage.env = { ...stage.env, [name]: value };
        stage.variables.set(name, value);
      }
      return;
    case "WORKDIR":
      stage.workdir = resolve(stage.workdir, expand(text, stage.variables));
      return void mkdirSync(stage.root + stage.workdir, { recursive: true });
    case "COPY":
      return copy(instruction, stage, stages, options.context);
    case "RUN":
      if (stage.user !== "" && stage.user !== "0")
        throw new Error(`line ${instruction.line}: RUN as ${stage.user} is not understood`);
      return runInRoot({
        ...{ root: stage.root, readOnly: false, workdir: stage.workdir, command: commandOf(text) },
        mounts: options.mounts,
        // What ARG declares is in the environment of RUN, too.
        env: { HOME: "/root", ...options.env, ...Object.fromEntries(stage.variables) },
      });
    case "LABEL":
      stage.labels = { ...stage.labels, ...Object.fromEntries(pairsOf(text, stage.variables)) };
      return;
    case "USER":
      stage.user = expand(text, stage.variables);
      return;
    case "EXPOSE":
      return;
    case "STOPSIGNAL":
      stage.stopSignal = text;
      return;
    case "ENTRYPOINT":
      stage.entrypoint = commandOf(text);
      return;
    case "CMD":
      stage.cmd = commandOf(text);
      return;
    case "HEALTHCHECK":
      stage.healthcheck = commandOf(text.replace(/^CMD\s+/, ""));
      return;
    default:
      throw new Error(`line ${instruction.line}: ${instruction.name} is not understood`);
  }
}

/** ARG: the default, unless the build was given a value. */
function declare({ line, name, text }: Instruction, into: Map<string, string>, options: BuildOptions): void {
  if (name !== "ARG") throw new Error(`line ${line}: ${name} before FROM`);
  const [key = "", value = ""] = text.split(/=(.*)/s);
  into.set(key, options.args?.[key] ?? expand(value, into));
}

function copy(instruction: Instruction, stage: Stage, stages: readonly Stage[], context: string): void {
  const { line, flags, text } = instruction;
  const from = flags.get("from");
  const other = stages.find(({ name }) => name !== "" && name === from);
  if (from !== undefined && !other) throw new Error(`line ${line}: there is no stage ${from} yet`);

  const paths = expand(text, stage.variables).split(/\s+/);
  const target = paths.pop() ?? "";
  const destination = stage.root + resolve(stage.workdir, target);
  const files = other ? undefined : new Set(contextOf(context));
  for (const path of paths) {
    const source = other ? other.root + resolve("/", path) : join(context, path);
    const isFolder = statSync(source).isDirectory();
    const into =
      !isFolder && (target.endsWith("/") || paths.length > 1)
        ? join(destination, basename(path))
        : destination;
    const taken = (file: string): boolean =>
      lstatSync(file).isDirectory() || !files || files.has(file.slice(context.length + 1));
    if (!isFolder && !taken(source)) throw new Error(`line ${line}: .dockerignore keeps ${path} out`);
    mkdirSync(dirname(into), { recursive: true });
    cpSync(source, into, { recursive: true, verbatimSymlinks: true, filter: taken });
    giveToRoot(into);
  }
}

/** Makes root the owner of the path. If the tests don't run as root, their user is root in the container. */
function giveToRoot(path: string): void {
  const inside = lstatSync(path).isDirectory()
    ? readdirSync(path, { recursive: true, encoding: "utf8" })
    : [];
  for (const one of [path, ...inside.map((name) => join(path, name))]) {
    lchownSync(one, process.getuid?.() ?? 0, process.getgid?.() ?? 0);
  }
}
