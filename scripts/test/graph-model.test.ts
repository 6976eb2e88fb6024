import t from 'tap'
import { convertGraph, type GraphModelFile } from '../detector/graph-model.ts'
import type { OnnxNode, OnnxTensor } from '../detector/onnx-file.ts'

const FLAT = { list: { i: ['1', '1', '1', '1'] } }
const PLAIN = { strides: FLAT, dilations: FLAT, padding: { s: btoa('VALID') }, data_format: { s: btoa('NHWC') } }

/** A picture is padded, turned, convolved with a bias, and turned back: one step of ONNX. */
const NODES = [
  { name: 'padded', op: 'Pad', input: ['picture', 'sides'] },
  { name: 'turned', op: 'Transpose', input: ['padded', 'last'] },
  { name: 'convolved', op: 'Conv2D', input: ['turned', 'kernel'], attr: PLAIN },
  { name: 'biased', op: 'Add', input: ['convolved', 'bias'] },
  { name: 'back', op: 'Transpose', input: ['biased', 'first'] },
]

/** Constants: names, shapes and numbers. */
const CONSTANTS: readonly [string, number[], 'int32' | 'float32', number[]][] = [
  ['sides', [4, 2], 'int32', [0, 0, 0, 0, 1, 2, 3, 4]],
  ['last', [4], 'int32', [0, 2, 3, 1]],
  ['first', [4], 'int32', [0, 3, 1, 2]],
  ['kernel', [1, 2, 3, 2], 'float32', [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]],
  ['bias', [2], 'float32', [0.5, -0.5]],
]

function converted(nodes: GraphModelFile['modelTopology']['node'], wanted: string) {
  const weights = CONSTANTS.map(([name, shape, dtype]) => ({ name, shape, dtype }))
  const bytes = CONSTANTS.map(([, , dtype, values]) =>
    Buffer.from((dtype === 'int32' ? Int32Array.from(values) : Float32Array.from(values)).buffer),
  )
  const graph: { nodes: OnnxNode[]; tensors: OnnxTensor[] } = { nodes: [], tensors: [] }
  const file = { modelTopology: { node: nodes }, weightsManifest: [{ weights }] }
  const names = convertGraph(file, Buffer.concat(bytes), { width: 8, values: new Map([['picture', 'in']]), graph }, [
    wanted,
  ])
  return { ...graph, names }
}

t.test('padding and bias become part of a convolution, and what only turns a value is left out', async (t) => {
  const { names, nodes, tensors } = converted(NODES, 'back')
  t.same(names, ['convolved'])
  t.equal(nodes.length, 1)
  t.match(nodes[0], {
    op: 'Conv',
    inputs: ['in', 'convolved/kernel', 'biased/bias'],
    attributes: { kernel_shape: [1, 2], strides: [1, 1], pads: [1, 3, 2, 4] },
  })
  const kernel = tensors.find(({ name }) => name === 'convolved/kernel')
  t.same(kernel?.shape, [2, 3, 1, 2], 'outputs, inputs, rows, columns')
  t.same([...new Float32Array(Uint8Array.from(kernel?.bytes ?? []).buffer)], [1, 7, 3, 9, 5, 11, 2, 8, 4, 10, 6, 12])
  t.same(converted(NODES, 'biased').nodes.at(-1), {
    ...{ op: 'Transpose', inputs: ['convolved'], outputs: ['convolved/ordered'], attributes: { perm: [0, 2, 3, 1] } },
  })
})

t.test('a step that is not known, or done in another way, is named', async (t) => {
  const changed = (at: number, change: object) =>
    NODES.map((node, index) => (index === at ? { ...node, ...change } : node))
  t.throws(() => converted(changed(0, { op: 'Einsum' }), 'back'), {
    message: /padded is Einsum, which is not translated/,
  })
  t.throws(() => converted(NODES, 'nothing'), { message: /nothing is not in the graph/ })
  const same = { ...PLAIN, padding: { s: btoa('SAME') } }
  t.throws(() => converted(changed(2, { attr: same }), 'back'), { message: /convolved is padded or strided/ })
  t.throws(() => converted(changed(2, { input: ['padded', 'kernel'] }), 'back'), {
    message: /does not read colours last/,
  })
  t.throws(() => converted(changed(3, { op: 'Sigmoid', input: ['turned'] }), 'back'), {
    message: /reads a padded value/,
  })
})
