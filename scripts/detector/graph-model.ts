/**
 * Turns a network in the form of TensorFlow.js ("graph model") into the nodes of an ONNX file.
 *
 * TensorFlow computes with colours last and ONNX with colours first, so a graph of the one that once was the other is full of
 * transpositions. They are not carried over: each value remembers in which order its reader wants its dimensions, and only
 * what comes out is put in order. Padding becomes part of the step behind it, and a bias part of the convolution before.
 */
import { type OnnxNode, type OnnxTensor, TENSOR_TYPE } from './onnx-file.ts'

/** A step as the file has it. */
interface GraphNode {
  name: string
  op: string
  input?: readonly string[]
  attr?: Readonly<Record<string, { f?: number; i?: string; s?: string; b?: boolean; list?: { i?: readonly string[] } }>>
}

/** The file `model.json`, as far as it is read. */
export interface GraphModelFile {
  modelTopology: { node: readonly GraphNode[] }
  weightsManifest: readonly {
    weights: readonly {
      name: string
      shape: readonly number[]
      dtype: string
      quantization?: { dtype: string }
    }[]
  }[]
}

/** A constant of the graph. */
interface Weight {
  shape: readonly number[]
  /** float16 and float32 as they lie in the file, whole numbers too. */
  type: 'float16' | 'float32' | 'int32'
  bytes: Uint8Array
}

/** A value while the graph is walked. Dimensions of TensorFlow's value are `order` of those that ONNX's has. */
interface Value {
  name: string
  order: readonly number[]
  /** What its width is divided by, seen from the picture. */
  stride: number
  /** Padding that the next step has to do: before and after each dimension of ONNX. */
  padding?: { sizes: readonly (readonly [number, number])[]; value: number }
}

/** A graph in the making, and what it is made of. */
interface Walk {
  graph: { nodes: OnnxNode[]; tensors: OnnxTensor[] }
  byName: ReadonlyMap<string, GraphNode>
  weights: ReadonlyMap<string, Weight>
  values: Map<string, Value>
  /** Width of the picture that the graph was written for. */
  width: number
}

const IN_ORDER = [0, 1, 2, 3]
const COLOURS_LAST = [0, 2, 3, 1]

/**
 * @param values what stands for the graph's inputs, by their name: four dimensions, colours first
 * @param names what is wanted, by the names of the graph
 * @returns the values for them, in the order in which TensorFlow has their dimensions
 * @throws Error that names the first step which is not among those that this translates
 */
export function convertGraph(
  file: GraphModelFile,
  bytes: Uint8Array,
  start: { width: number; values: ReadonlyMap<string, string>; graph: Walk['graph'] },
  names: readonly string[],
): string[] {
  const walk: Walk = {
    graph: start.graph,
    byName: new Map(file.modelTopology.node.map((node) => [node.name, node])),
    weights: readWeights(file, bytes),
    values: new Map([...start.values].map(([name, value]) => [name, { name: value, order: IN_ORDER, stride: 1 }])),
    width: start.width,
  }
  return names.map((name) => ordered(walk, computed(walk, name)).name)
}

/** @throws Error where the file and its description have different sizes */
function readWeights(file: GraphModelFile, bytes: Uint8Array): Map<string, Weight> {
  const weights = new Map<string, Weight>()
  let at = 0
  for (const { dtype, name, quantization, shape } of file.weightsManifest.flatMap((group) => group.weights)) {
    const type = quantization?.dtype ?? dtype
    if (type !== 'float16' && type !== 'float32' && type !== 'int32')
      throw new Error(`${name} is of the type ${type}, which is not known here`)
    const length = countOf(shape) * (type === 'float16' ? 2 : 4)
    weights.set(name, { shape, type, bytes: bytes.subarray(at, at + length) })
    at += length
  }
  if (at !== bytes.length) throw new Error(`the weights are ${bytes.length} bytes, their list says ${at}`)
  return weights
}

function countOf(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1)
}

/** Steps that ONNX has under a name of its own, or that need more than a name. */
const STEPS: Readonly<Record<string, (walk: Walk, node: GraphNode) => Value>> = {
  Identity: (walk, node) => inputOf(walk, node, 0),
  Transpose(walk, node) {
    const value = inputOf(walk, node, 0)
    return { ...value, order: numbersOf(walk, node, 1).map((from) => need(value.order[from])) }
  },
  Pad: padded,
  PadV2: padded,
  Conv2D: convolution,
  MaxPool(walk, node) {
    const value = checkedPicture(inputOf(walk, node, 0), node, Number.NEGATIVE_INFINITY)
    const [stride, strides] = stridesOf(node)
    const [, high = 0, wide = 0] = numbersIn(node, 'ksize')
    const attributes = { kernel_shape: [high, wide], strides, pads: padsOf(value) }
    return { ...emitted(walk, node, 'MaxPool', [value], attributes), stride: value.stride * stride }
  },
  Add: added,
  AddV2: added,
  LeakyRelu: (walk, node) =>
    emitted(walk, node, 'LeakyRelu', [inputOf(walk, node, 0)], { alpha: { float: need(node.attr?.alpha?.f) } }),
  Sigmoid: (walk, node) => emitted(walk, node, 'Sigmoid', [inputOf(walk, node, 0)]),
  ConcatV2(walk, node) {
    const many = (node.input?.length ?? 0) - 1
    const values = Array.from({ length: many }, (_, at) => inputOf(walk, node, at))
    const [axis = 0] = numbersOf(walk, node, many)
    return emitted(walk, node, 'Concat', values, { axis: need(values[0]?.order[axis]) })
  },
  ResizeBilinear: resized,
  SplitV(walk, node) {
    const value = inputOf(walk, node, 0)
    const [axis = 0] = numbersOf(walk, node, 2)
    const sizes = int64(walk, `${node.name}/sizes`, numbersOf(walk, node, 1))
    const outputs = numbersOf(walk, node, 1).map((_, at) => (at === 0 ? node.name : `${node.name}:${at}`))
    const attributes = { axis: need(value.order[axis]) }
    walk.graph.nodes.push({ op: 'Split', inputs: [value.name, sizes], outputs, attributes })
    for (const name of outputs) walk.values.set(name, { ...value, name })
    return { ...value, name: node.name }
  },
  Reshape(walk, node) {
    const value = checkedPicture(inputOf(walk, node, 0), node)
    if (value.order.join() !== IN_ORDER.join()) throw new Error(`${node.name} wants a value that is not in order`)
    const shape = shapeOf(walk, node.input?.[1] ?? '')
    const sizes = int64(walk, `${node.name}/shape`, shape)
    const made = emitted(walk, node, 'Reshape', [value, { ...value, name: sizes }])
    return { ...made, order: shape.map((_, at) => at) }
  },
}

function computed(walk: Walk, name: string): Value {
  const known = walk.values.get(name)
  if (known) return known
  // A second output of a step stands behind a colon.
  const node = walk.byName.get(name.replace(/:\d+$/, ''))
  const step = STEPS[node?.op ?? '']
  if (!node || !step) throw new Error(`${name} is ${node?.op ?? 'not in the graph'}, which is not translated`)
  const value = step(walk, node)
  walk.values.set(node.name, value)
  const made = walk.values.get(name)
  if (!made) throw new Error(`${node.name} does not give ${name}`)
  return made
}

function inputOf(walk: Walk, node: GraphNode, at: number): Value {
  return computed(walk, node.input?.[at] ?? '')
}

/** Steps that read it in the same order; the first says which. */
function emitted(
  walk: Walk,
  node: GraphNode,
  op: string,
  ...[values, attributes]: [Value[], OnnxNode['attributes']?]
): Value {
  const [first] = values
  if (!first || values.some((value) => value.order.join() !== first.order.join()))
    throw new Error(`${node.name} reads values in different orders`)
  if (op !== 'Conv' && op !== 'MaxPool' && values.some(({ padding }) => padding))
    throw new Error(`${node.name} reads a padded value`)
  walk.graph.nodes.push({
    ...{ op, inputs: values.map(({ name }) => name), outputs: [node.name] },
    ...(attributes ? { attributes } : {}),
  })
  return { name: node.name, order: first.order, stride: first.stride }
}

/** A value with colours last, as TensorFlow's convolutions read it, and padded with nothing but `value`. */
function checkedPicture(value: Value, node: GraphNode, padding?: number): Value {
  if (padding !== undefined && value.order.join() !== COLOURS_LAST.join())
    throw new Error(`${node.name} does not read colours last`)
  if (value.padding && value.padding.value !== padding)
    throw new Error(`${node.name} reads a value padded with ${value.padding.value}`)
  return value
}

function padded(walk: Walk, node: GraphNode): Value {
  const value = inputOf(walk, node, 0)
  const flat = numbersOf(walk, node, 1)
  const sizes: (readonly [number, number])[] = []
  for (const [at, dimension] of value.order.entries())
    sizes[dimension] = [need(flat[2 * at]), need(flat[2 * at + 1])] as const
  return { ...value, padding: { sizes, value: node.op === 'Pad' ? 0 : need(numbersOf(walk, node, 2)[0]) } }
}

/** ONNX wants what comes before the rows and columns, and then what comes after them. */
function padsOf({ padding }: Value): number[] {
  const [, , rows = [0, 0], columns = [0, 0]] = padding?.sizes ?? []
  return [rows[0], columns[0], rows[1], columns[1]]
}

/** @returns how much smaller it makes a picture, and the same for both directions */
function stridesOf(node: GraphNode): [number, number[]] {
  const [, high = 0, wide = 0] = numbersIn(node, 'strides')
  const isPlain = atob(node.attr?.padding?.s ?? '') === 'VALID' && atob(node.attr?.data_format?.s ?? '') === 'NHWC'
  if (!isPlain || high !== wide) throw new Error(`${node.name} is padded or strided in a way that is not translated`)
  return [high, [high, wide]]
}

function convolution(walk: Walk, node: GraphNode): Value {
  const value = checkedPicture(inputOf(walk, node, 0), node, 0)
  const [stride, strides] = stridesOf(node)
  if (numbersIn(node, 'dilations').some((each) => each !== 1)) throw new Error(`${node.name} is dilated`)
  const kernel = need(walk.weights.get(node.input?.[1] ?? ''))
  const [high = 0, wide = 0] = kernel.shape
  const weight = { ...value, name: tensor(walk, `${node.name}/kernel`, reordered(kernel, [3, 2, 0, 1])) }
  const attributes = { kernel_shape: [high, wide], strides, pads: padsOf(value) }
  return { ...emitted(walk, node, 'Conv', [value, weight], attributes), stride: value.stride * stride }
}

/** The sum of two values; a constant becomes the bias of the convolution before, which nothing else may read then. */
function added(walk: Walk, node: GraphNode): Value {
  const bias = walk.weights.get(node.input?.[1] ?? '')
  if (!bias) return emitted(walk, node, 'Add', [inputOf(walk, node, 0), inputOf(walk, node, 1)])
  const value = inputOf(walk, node, 0)
  const before = walk.graph.nodes.find(({ outputs }) => outputs[0] === value.name)
  const readers = [...walk.byName.values()].filter(({ input = [] }) => input.includes(value.name))
  if (before?.op !== 'Conv' || readers.length !== 1 || value.order.at(-1) !== 1 || bias.shape.length !== 1)
    throw new Error(`${node.name} adds a constant to something else than a convolution`)
  before.inputs.push(tensor(walk, `${node.name}/bias`, bias))
  return value
}

/** By a scale instead of a size, so that the picture may have another size than the one that the graph was written for. */
function resized(walk: Walk, node: GraphNode): Value {
  const value = checkedPicture(inputOf(walk, node, 0), node, 0)
  const [, width = 0] = numbersOf(walk, node, 1)
  const isKnown = node.attr?.half_pixel_centers?.b === true && node.attr.align_corners?.b === false
  const stride = walk.width / width
  if (!isKnown || !Number.isInteger(stride)) throw new Error(`${node.name} is resized in a way that is not translated`)
  const by = value.stride / stride
  const scales = tensor(walk, `${node.name}/scales`, {
    ...{ shape: [4], type: 'float32' as const, bytes: new Uint8Array(Float32Array.of(1, 1, by, by).buffer) },
  })
  const attributes = { mode: 'linear', coordinate_transformation_mode: 'half_pixel' }
  const inputs = [value.name, '', scales]
  walk.graph.nodes.push({ op: 'Resize', inputs, outputs: [node.name], attributes })
  return { name: node.name, order: value.order, stride }
}

/** The shape is a constant and a sum that adds nothing to it, of which only the constant says something. */
function shapeOf(walk: Walk, name: string): number[] {
  const node = walk.byName.get(name)
  const constant = node?.op === 'AddV2' ? (node.input?.[0] ?? '') : name
  return numbersOfWeight(walk, constant)
}

function ordered(walk: Walk, value: Value): Value {
  const isInOrder = value.order.every((dimension, at) => dimension === at)
  if (isInOrder) return value
  const name = `${value.name}/ordered`
  const attributes = { perm: value.order }
  walk.graph.nodes.push({ op: 'Transpose', inputs: [value.name], outputs: [name], attributes })
  return { ...value, name, order: value.order.map((_, at) => at) }
}

/** Half precision stays so in the file, and is made whole when the network is loaded. */
function tensor(walk: Walk, name: string, { bytes, shape, type }: Weight): string {
  if (type === 'int32') throw new Error(`${name} is of whole numbers`)
  if (type === 'float32') {
    walk.graph.tensors.push({ name, type, shape, bytes })
    return name
  }
  walk.graph.tensors.push({ name: `${name}/half`, type, shape, bytes })
  // Before all steps, since a bias comes to a convolution that stands there already.
  walk.graph.nodes.unshift({
    op: 'Cast',
    inputs: [`${name}/half`],
    outputs: [name],
    attributes: { to: TENSOR_TYPE.float32 },
  })
  return name
}

function int64(walk: Walk, name: string, numbers: readonly number[]): string {
  const bytes = new Uint8Array(BigInt64Array.from(numbers, BigInt).buffer)
  walk.graph.tensors.push({ name, type: 'int64', shape: [numbers.length], bytes })
  return name
}

/** With its dimensions in another order: the new ones are `order` of the old. */
function reordered({ bytes, shape, type }: Weight, order: readonly number[]): Weight {
  const size = bytes.length / countOf(shape)
  const steps = shape.map((_, at) => countOf(shape.slice(at + 1)))
  const to = order.map((at) => need(shape[at]))
  const made = new Uint8Array(bytes.length)
  for (let index = 0; index < bytes.length / size; index++) {
    let rest = index
    let from = 0
    for (let at = to.length - 1; at >= 0; at--) {
      const length = need(to[at])
      from += (rest % length) * need(steps[need(order[at])])
      rest = Math.floor(rest / length)
    }
    made.set(bytes.subarray(from * size, (from + 1) * size), index * size)
  }
  return { shape: to, type, bytes: made }
}

/** A constant that stands at an input. */
function numbersOf(walk: Walk, node: GraphNode, at: number): number[] {
  return numbersOfWeight(walk, node.input?.[at] ?? '')
}

function numbersOfWeight(walk: Walk, name: string): number[] {
  const { bytes, type } = need(walk.weights.get(name))
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  if (type === 'float16') return Array.from({ length: bytes.length / 2 }, (_, at) => view.getFloat16(2 * at, true))
  const read = (at: number) => (type === 'int32' ? view.getInt32(4 * at, true) : view.getFloat32(4 * at, true))
  return Array.from({ length: bytes.length / 4 }, (_, at) => read(at))
}

function numbersIn(node: GraphNode, attribute: string): number[] {
  return (node.attr?.[attribute]?.list?.i ?? []).map(Number)
}

function need<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the graph lacks something that it refers to')
  return value
}
