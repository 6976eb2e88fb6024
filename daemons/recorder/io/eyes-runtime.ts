/** Loads networks for the process plantroom-eyes: files that are what their manifest says, and ONNX Runtime, which is beside it. */
import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { Fault } from '#kit/pure/fault.ts'

/** What is used of npm's onnxruntime-node; it is beside this program, and no part of it. */
interface Runtime {
  InferenceSession: { create(model: Uint8Array, options: object): Promise<Session> }
  Tensor: new (type: string, data: Uint8Array | Float32Array, shape: readonly number[]) => object
}

interface Session {
  inputNames: readonly string[]
  outputNames: readonly string[]
  run(feeds: Record<string, object>): Promise<Record<string, { dims: readonly number[]; data: unknown }>>
}

/** One thread: the recorder, and what else the machine has to do, keep the others. */
const SESSION = { intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 3, enableMemPattern: false }
/** A larger network is not for a machine like this. */
const MOST_MODEL_BYTES = 268_435_456
const MOST_WHY = 500

/** What a network is given. */
interface Given {
  data: Uint8Array | Float32Array
  shape: readonly number[]
}

/** One output of a network. */
interface Made {
  shape: readonly number[]
  data: Float32Array
}

/** A network that is loaded. */
export interface LoadedNetwork {
  /** As the file names them. */
  outputNames: readonly string[]
  /**
   * @param outputs names of what is wanted
   * @returns in that order
   * @throws Fault `model_unfit`; or as the runtime says
   */
  compute(given: Given, outputs: readonly string[]): Promise<Made[]>
}

export function sentenceOf(error: unknown): string {
  return (error as Error).message.slice(0, MOST_WHY)
}

/** @throws Fault `bad_model` */
export function readFileOf(path: string, what: string, mostBytes: number): Buffer {
  try {
    const stats = statSync(path)
    if (!stats.isFile() || stats.size > mostBytes) throw new Error(`it is not a file of at most ${mostBytes} bytes`)
    return readFileSync(path)
  } catch (error) {
    throw new Fault(
      'bad_model',
      `The ${what} ${path} cannot be read: ${sentenceOf(error)}. Install plantroom-detector again, or name another model.`,
    )
  }
}

/** @throws Fault `bad_model`, `model_unfit`; or as the runtime says */
export async function loadNetworkFile(path: string, sha256: string): Promise<LoadedNetwork> {
  const model = readFileOf(path, 'model', MOST_MODEL_BYTES)
  const sum = createHash('sha256').update(model).digest('hex')
  if (sum !== sha256)
    throw new Fault('bad_model', `${path} is not the model of its manifest: its SHA-256 is ${sum}. Fetch it again.`)
  const { InferenceSession, Tensor } = loadRuntime()
  const session = await InferenceSession.create(model, SESSION)
  const [name = '', ...more] = session.inputNames
  if (more.length > 0)
    throw new Fault('model_unfit', `The network ${path} wants ${more.length + 1} inputs; one picture is all there is.`)
  return {
    outputNames: session.outputNames,
    async compute({ data, shape }, outputs) {
      const type = data instanceof Uint8Array ? 'uint8' : 'float32'
      const made = await session.run({ [name]: new Tensor(type, data, shape) })
      return outputs.map((output) => {
        const tensor = made[output]
        if (!(tensor?.data instanceof Float32Array))
          throw new Fault('model_unfit', `The network ${path} gives no numbers as '${output}'.`)
        return { shape: tensor.dims, data: tensor.data }
      })
    },
  }
}

function loadRuntime(): Runtime {
  try {
    return createRequire(import.meta.url)('onnxruntime-node') as Runtime
  } catch (error) {
    throw new Fault(
      'bad_model',
      `ONNX Runtime cannot be loaded: ${sentenceOf(error)}. Install plantroom-detector again.`,
    )
  }
}
