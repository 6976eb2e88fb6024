/**
 * The process `plantroom-eyes`: a detector that looks at pictures by a network in an ONNX file, and speaks the detector protocol on
 * its standard input and output. It is a program of its own, in a package of its own: it may crash, hang or be missing.
 *
 *     plantroom-eyes [MANIFEST]    the network that its manifest describes; without one, that of the package
 */
import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { Fault } from '#kit/pure/fault.ts'
import { readBoxes, type SeenBox } from '../wire/model-boxes.ts'
import { type NetworkInput, networkInput, toldBoxes } from '../wire/model-input.ts'
import { MOST_MANIFEST_BYTES, type ModelManifest, readManifest } from '../wire/model-manifest.ts'
import { createWorkerReader, type WorkerMessage, writeWorkerMessage } from '../wire/worker-message.ts'

const PROTOCOL = 1
/** A picture of 1920 x 1080. */
const MOST_BODY_BYTES = 6_220_800
/** A larger network is not for a machine like this. */
const MOST_MODEL_BYTES = 268_435_456
const MOST_BOXES = 256
const MOST_WHY = 500

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

/** A network that is loaded. */
interface Network {
  manifest: ModelManifest
  look(input: NetworkInput): Promise<SeenBox[]>
}

function send(head: object): void {
  for (const part of writeWorkerMessage(head, [], { isLittleEndian: true })) process.stdout.write(part)
}

function sentenceOf(error: unknown): string {
  return (error as Error).message.slice(0, MOST_WHY)
}

/** @throws Fault `bad_model` */
function readFileOf(path: string, what: string, mostBytes: number): Buffer {
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
async function loadNetwork(manifestPath: string): Promise<Network> {
  const manifest = readManifest(readFileOf(manifestPath, 'manifest', MOST_MANIFEST_BYTES).toString())
  const path = join(dirname(manifestPath), manifest.file)
  const model = readFileOf(path, 'model', MOST_MODEL_BYTES)
  const sum = createHash('sha256').update(model).digest('hex')
  if (sum !== manifest.sha256)
    throw new Fault('bad_model', `${path} is not the model of its manifest: its SHA-256 is ${sum}. Fetch it again.`)
  const { InferenceSession, Tensor } = loadRuntime()
  const session = await InferenceSession.create(model, SESSION)
  const outputs = manifest.outputs.length > 0 ? manifest.outputs : session.outputNames
  const [name = '', ...more] = session.inputNames
  if (more.length > 0)
    throw new Fault('model_unfit', `The network ${path} wants ${more.length + 1} inputs; one picture is all there is.`)
  const type = manifest.input.layout === 'nhwc-uint8' ? 'uint8' : 'float32'

  async function look({ data, height, shape, width }: NetworkInput): Promise<SeenBox[]> {
    const made = await session.run({ [name]: new Tensor(type, data, shape) })
    const tensors = outputs.map((output) => {
      const tensor = made[output]
      if (!(tensor?.data instanceof Float32Array))
        throw new Fault('model_unfit', `The network ${path} gives no numbers as '${output}'.`)
      return { shape: tensor.dims, data: tensor.data }
    })
    const { overlap, weak } = manifest.thresholds
    const reading = { width, height, labels: manifest.labels.length, score: weak, overlap, most: MOST_BOXES }
    return readBoxes(manifest.decoder, tensors, reading)
  }
  return { manifest, look }
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

/** A grey picture of each size: what does not fit is known before the first real one. */
async function tryOut({ look, manifest }: Network): Promise<void> {
  for (const [width, height] of manifest.input.sizes)
    await look(networkInput({ width, height, rgb: new Uint8Array(width * height * 3).fill(128) }, manifest.input))
}

async function judge({ look, manifest }: Network, { body, head }: WorkerMessage): Promise<void> {
  const { format, height, id, width } = head
  try {
    if (format !== 'rgb24' || body.length === 0 || body.length !== Number(width) * Number(height) * 3)
      throw new Fault('bad_picture', `The picture is not ${width} x ${height} pixels of rgb24.`)
    const picture = { width: Number(width), height: Number(height), rgb: body }
    const startedAt = performance.now()
    const input = networkInput(picture, manifest.input)
    const boxes = toldBoxes(await look(input), input.filled, manifest)
    send({ kind: 'boxes', id, boxes, took_ms: Math.round(10 * (performance.now() - startedAt)) / 10 })
  } catch (error) {
    send({ kind: 'failed', id, why: sentenceOf(error) })
  }
}

async function begin(): Promise<void> {
  const path = resolve(process.argv[2] ?? join(import.meta.dirname, 'models/nanodet-g/manifest.json'))
  const network = await loadNetwork(path)
  await tryOut(network)
  const { input, labels, name } = network.manifest
  const told = [...new Set(labels.filter((label) => label !== null))]
  const width = Math.max(...input.sizes.map(([each]) => each))
  const height = Math.max(...input.sizes.map(([, each]) => each))
  send({ kind: 'ready', protocol: PROTOCOL, name: `plantroom-eyes, ${name}`, labels: told, width, height })
  const read = createWorkerReader(MOST_BODY_BYTES, { isLittleEndian: true })
  // One after the other, whatever the other side does.
  let last = Promise.resolve()
  process.stdin.on('data', (chunk: Uint8Array) => {
    for (const message of read(chunk)) {
      if (message.head.kind === 'picture') last = last.then(() => judge(network, message))
    }
  })
}

process.title = 'plantroom-eyes'
process.stdin.on('end', () => process.exit(0))
process.stdout.on('error', () => process.exit(0))
begin().catch((error) => {
  send({ kind: 'fault', why: sentenceOf(error) })
  process.stdout.end(() => process.exit(1))
})
