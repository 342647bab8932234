// undici's types cover its main module only. These files export parts of that module. The whole, with fetch, caches and
// mocks, takes as long to load as Node.js to start.
declare module "undici/lib/api/api-request.js" {
  import type { Dispatcher } from "undici";

  const request: (this: Dispatcher, options: Dispatcher.RequestOptions) => Promise<Dispatcher.ResponseData>;
  export default request;
}
declare module "undici/lib/core/errors.js" {
  export { errors as default } from "undici";
}
declare module "undici/lib/dispatcher/pool.js" {
  export { Pool as default } from "undici";
}
