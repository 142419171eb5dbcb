/**
 * A recipe's `serving` section → the command line that serves one checkpoint, for vLLM (`vllm serve`, read at 0.32) and SGLang
 * (`sglang.launch_server`, read at 0.5.23), or a command of one's own with its placeholders filled in. Touches no disk and no network.
 */
import type { ServingOptions } from "../../core/index.js";
import type { ProcessCommand } from "../../processes/index.js";

export interface ServedPlace {
  /** Checkpoint folder, or a name that the server loads models by. */
  model: string;
  port: number | string;
}

export function serverCommand(options: ServingOptions, { model, port }: ServedPlace, cwd: string): ProcessCommand {
  const [command, ...before] = wordsOf(options, { model, port: String(port), host: options.host, name: options.served_model_name });
  // The last is for vLLM, which reports its use otherwise.
  const env = { PYTHONUNBUFFERED: "1", VLLM_NO_USAGE_STATS: "1", ...options.environment };
  return { command: command!, args: [...before], cwd, env };
}

function wordsOf(options: ServingOptions, values: Record<"model" | "port" | "host" | "name", string>): string[] {
  const { model, port, host, name } = values;
  switch (options.kind) {
    case "command":
      return options.command.map((word) => word.replaceAll(/\{(model|port|host|name)\}/g, (_, key: keyof typeof values) => values[key]));
    case "vllm":
      return [
        ...options.command,
        model,
        ...["--host", host, "--port", port, "--served-model-name", name],
        ...["--tensor-parallel-size", String(options.tensor_parallel)],
        ...(options.data_parallel === 1 ? [] : ["--data-parallel-size", String(options.data_parallel)]),
        ...["--gpu-memory-utilization", String(options.gpu_memory)],
        ...(options.max_model_len === undefined ? [] : ["--max-model-len", String(options.max_model_len)]),
        // Otherwise what a request leaves out (top_k, top_p) is taken from the checkpoint's generation_config.json.
        ...["--generation-config", "vllm"],
        ...options.extra_args,
      ];
    case "sglang":
      return [
        ...options.command,
        ...["--model-path", model, "--host", host, "--port", port, "--served-model-name", name],
        ...["--tp-size", String(options.tensor_parallel)],
        ...(options.data_parallel === 1 ? [] : ["--dp-size", String(options.data_parallel)]),
        ...["--mem-fraction-static", String(options.gpu_memory)],
        ...(options.max_model_len === undefined ? [] : ["--context-length", String(options.max_model_len)]),
        // As for vLLM: requests say all of their sampling.
        ...["--sampling-defaults", "openai"],
        ...options.extra_args,
      ];
  }
}

/** Whether the server stays up while the trainer trains, and is given weights instead of being started again. */
export function staysUp(options: ServingOptions): boolean {
  return options.kind === "sglang" && options.weights === "update";
}
