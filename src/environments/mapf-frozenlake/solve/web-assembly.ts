/** What is needed of WebAssembly, which every JavaScript engine has but the types of Node do not. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object, imports: Imports) => { exports: object };
};

export type Imports = Record<string, Record<string, (...values: number[]) => number | undefined>>;

export function compiled(bytes: Uint8Array): object {
  return new WebAssembly.Module(bytes);
}

/** The exports of a new instance of what `compiled` gave. */
export function instantiated(module: object, imports: Imports): object {
  return new WebAssembly.Instance(module, imports).exports;
}
