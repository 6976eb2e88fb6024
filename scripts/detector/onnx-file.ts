/** Writes a network as an ONNX file: the few messages of its protobuf schema that a converted model needs. */

/** Numbers of `TensorProto.DataType`. */
export const TENSOR_TYPE = { float32: 1, uint8: 2, int64: 7, float16: 10 } as const

/** Constant numbers of a network, as they lie in the file: little endian, the last dimension first. */
export interface OnnxTensor {
  name: string
  type: keyof typeof TENSOR_TYPE
  shape: readonly number[]
  bytes: Uint8Array
}

/** A whole number is written as `int`, a list as `ints`, and `{float}` as such. */
type Attribute = number | string | readonly number[] | { float: number }

/** One step of a network: it reads values by name, and gives others. */
export interface OnnxNode {
  op: string
  inputs: string[]
  outputs: readonly string[]
  attributes?: Readonly<Record<string, Attribute>>
}

/** What goes into a network or comes out: a dimension that is a word is known when it runs. */
interface OnnxValue {
  name: string
  type: keyof typeof TENSOR_TYPE
  shape: readonly (number | string)[]
}

/** A network. Each node stands behind those whose values it reads. */
export interface OnnxGraph {
  name: string
  inputs: readonly OnnxValue[]
  outputs: readonly OnnxValue[]
  nodes: readonly OnnxNode[]
  tensors: readonly OnnxTensor[]
}

/** IR version 8 with operators of version 17, which every ONNX Runtime since 1.12 reads. */
const IR_VERSION = 8
const OPERATORS = 17

/**
 * @param about kept in the file for whoever opens it: where the numbers come from
 * @source onnx.proto of ONNX 1.17: ModelProto, GraphProto, NodeProto, AttributeProto, TensorProto, ValueInfoProto
 */
export function writeOnnx(graph: OnnxGraph, about: string): Uint8Array {
  const body = joined([
    ...graph.nodes.map((node) => field(1, nodeBytes(node))),
    field(2, graph.name),
    ...graph.tensors.map((tensor) => field(5, tensorBytes(tensor))),
    ...graph.inputs.map((value) => field(11, valueBytes(value))),
    ...graph.outputs.map((value) => field(12, valueBytes(value))),
  ])
  const operators = joined([field(1, ''), field(2, OPERATORS)])
  return joined([field(1, IR_VERSION), field(2, 'plantroom'), field(6, about), field(7, body), field(8, operators)])
}

function nodeBytes({ attributes = {}, inputs, op, outputs }: OnnxNode): Uint8Array {
  return joined([
    ...inputs.map((name) => field(1, name)),
    ...outputs.map((name) => field(2, name)),
    field(3, outputs[0] ?? ''),
    field(4, op),
    ...Object.entries(attributes).map(([name, value]) => field(5, joined([field(1, name), ...attributeFields(value)]))),
  ])
}

function attributeFields(value: Attribute): Uint8Array[] {
  const typed = (type: number, ...fields: Uint8Array[]) => [...fields, field(20, type)]
  if (typeof value === 'number') return typed(2, field(3, value))
  if (typeof value === 'string') return typed(3, field(4, value))
  if ('float' in value) return typed(1, float(2, value.float))
  return typed(7, ...value.map((each) => field(8, each)))
}

function tensorBytes({ bytes, name, shape, type }: OnnxTensor): Uint8Array {
  return joined([...shape.map((size) => field(1, size)), field(2, TENSOR_TYPE[type]), field(8, name), field(9, bytes)])
}

function valueBytes({ name, shape, type }: OnnxValue): Uint8Array {
  const sizes = shape.map((size) => field(1, typeof size === 'number' ? field(1, size) : field(2, size)))
  const tensor = joined([field(1, TENSOR_TYPE[type]), field(2, joined(sizes))])
  return joined([field(1, name), field(2, field(1, tensor))])
}

/** A field of protobuf: whole numbers as varints, all else with its length before. */
function field(number: number, value: number | string | Uint8Array): Uint8Array {
  if (typeof value === 'number') return joined([varint(BigInt(number << 3)), varint(BigInt(value))])
  const bytes = typeof value === 'string' ? new TextEncoder().encode(value) : value
  return joined([varint(BigInt((number << 3) | 2)), varint(BigInt(bytes.length)), bytes])
}

function float(number: number, value: number): Uint8Array {
  const bytes = new Uint8Array(4)
  new DataView(bytes.buffer).setFloat32(0, value, true)
  return joined([varint(BigInt((number << 3) | 5)), bytes])
}

/** Negative numbers are written as their 64-bit two's complement, as int64 wants. */
function varint(value: bigint): Uint8Array {
  const bytes: number[] = []
  let rest = BigInt.asUintN(64, value)
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128)
  bytes.push(Number(rest))
  return Uint8Array.from(bytes)
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(parts)
}
