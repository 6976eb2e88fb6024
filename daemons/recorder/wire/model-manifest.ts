/**
 * The manifest of a network: which file it is, what it wants to be given, and what its numbers mean. An owner may write one, so
 * what is wrong with it is said in a sentence.
 * @source this program alone; docs/recorder.md describes the file for owners
 */
import { Fault } from '#kit/pure/fault.ts'
import { DECODERS, type Decoder } from './model-boxes.ts'

/** What a network is given. */
export interface ModelInput {
  /** Bytes with the colours of a pixel side by side, or numbers with one plane for each colour. */
  layout: 'nhwc-uint8' | 'nchw-float32'
  colours: 'rgb' | 'bgr'
  /** Width and height that it takes, in pixels; the one with the proportions nearest to those of a picture is used. */
  sizes: readonly (readonly [width: number, height: number])[]
  /** Whether pictures are stretched to that size, or keep their proportions and leave a rest. */
  fit: 'stretch' | 'pad'
  /** What is taken from each colour, of 0 to 255, in the order of `colours`; and what the rest is divided by. */
  mean: readonly number[]
  deviation: readonly number[]
  /** Shade of the rest, 0 to 255. */
  fill: number
}

/** A network and what is known of it. */
export interface ModelManifest {
  name: string
  /** In the folder of the manifest. */
  file: string
  sha256: string
  decoder: Decoder
  input: ModelInput
  /** Its outputs in the order that the decoder wants; empty: as the file has them. */
  outputs: readonly string[]
  /** By number; null for what is not told. Several numbers may have the same. */
  labels: readonly (string | null)[]
  thresholds: {
    /** From this score on, what it says is to be believed. */
    seen: number
    /** What has less is not told. */
    weak: number
    /** Of two boxes that share more of their area, the weaker one is left out. */
    overlap: number
  }
}

/** Longest manifest: some hundred labels. */
export const MOST_MANIFEST_BYTES = 65_536

/** As the detector protocol has them. */
const LABEL = /^[a-z][a-z0-9 _-]{0,39}$/
const MOST_LABELS = 400
const LARGEST = { width: 1920, height: 1080 }
const SMALLEST = 32
const MOST_SIZES = 8

type Fields = Readonly<Record<string, unknown>>

/** @throws Fault `bad_model` that says which field is wrong, and what was expected */
export function readManifest(text: string): ModelManifest {
  const all = fieldsOf(parsed(text), 'the manifest')
  const decoder = oneOf(all, 'decoder', Object.keys(DECODERS) as Decoder[])
  const labels = readLabels(all.labels)
  const outputs = listOf(all.outputs ?? [], 'outputs', (one) => typeof one === 'string' && one.length <= 200)
  if (outputs.length > 0 && outputs.length !== DECODERS[decoder])
    throw bad(`outputs names ${outputs.length}, and ${decoder} has ${DECODERS[decoder]}`)
  return {
    name: wordOf(all, 'name', /^[ -~]{1,60}$/, '1 to 60 characters'),
    file: wordOf(all, 'file', /^\w[\w.-]{0,99}$/, 'the name of a file beside it'),
    sha256: wordOf(all, 'sha256', /^[0-9a-f]{64}$/, '64 hexadecimal digits'),
    ...{ decoder, outputs: outputs as string[], labels, input: readInput(all.input) },
    thresholds: readThresholds(all.thresholds),
  }
}

function readInput(value: unknown): ModelInput {
  const input = fieldsOf(value, 'input')
  const layout = oneOf(input, 'layout', ['nhwc-uint8', 'nchw-float32'])
  const mean = coloursOf(input.mean ?? [0, 0, 0], 'mean')
  const deviation = coloursOf(input.deviation ?? [1, 1, 1], 'deviation')
  if (deviation.some((each) => each <= 0)) throw bad('input.deviation has to be above 0')
  if (layout === 'nhwc-uint8' && (mean.some((each) => each !== 0) || deviation.some((each) => each !== 1)))
    throw bad('input.mean and input.deviation are for the layout nchw-float32: bytes are handed over as they are')
  const fill = input.fill === undefined ? 0 : wholeOf(input, 'fill', 0, 255)
  const [colours, fit] = [oneOf(input, 'colours', ['rgb', 'bgr']), oneOf(input, 'fit', ['stretch', 'pad'])]
  return { layout, colours, fit, sizes: readSizes(input.sizes), mean, deviation, fill }
}

function readSizes(value: unknown): [number, number][] {
  const isSide = (side: unknown, most: number) =>
    typeof side === 'number' && Number.isInteger(side) && side >= SMALLEST && side <= most
  const sizes = listOf(
    value,
    'input.sizes',
    (one) => Array.isArray(one) && one.length === 2 && isSide(one[0], LARGEST.width) && isSide(one[1], LARGEST.height),
  )
  if (sizes.length === 0 || sizes.length > MOST_SIZES)
    throw bad(`input.sizes has to be a list of 1 to ${MOST_SIZES} pairs of width and height`)
  return sizes as [number, number][]
}

function readLabels(value: unknown): (string | null)[] {
  const isGood = (one: unknown) => one === null || (typeof one === 'string' && LABEL.test(one))
  const labels = listOf(value, 'labels', isGood) as (string | null)[]
  if (labels.length === 0 || labels.length > MOST_LABELS || labels.every((label) => label === null))
    throw bad(`labels has to be a list of 1 to ${MOST_LABELS}, of which at least one is not null`)
  return labels
}

function readThresholds(value: unknown): ModelManifest['thresholds'] {
  const thresholds = fieldsOf(value, 'thresholds')
  const part = (name: string) => numberOf(thresholds, name, 0.01, 0.99)
  const read = { seen: part('seen'), weak: part('weak'), overlap: part('overlap') }
  if (read.weak > read.seen) throw bad('thresholds.weak has to be at most thresholds.seen')
  return read
}

function parsed(text: string): unknown {
  if (text.length > MOST_MANIFEST_BYTES) throw bad(`it is longer than ${MOST_MANIFEST_BYTES} characters`)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw bad(`it is not JSON: ${(error as Error).message.slice(0, 100)}`)
  }
}

function fieldsOf(value: unknown, name: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw bad(`${name} has to be an object`)
  return value as Fields
}

function listOf(value: unknown, name: string, isGood: (one: unknown) => boolean): unknown[] {
  if (!Array.isArray(value)) throw bad(`${name} has to be a list`)
  const wrong = value.findIndex((one) => !isGood(one))
  if (wrong >= 0) throw bad(`${name}[${wrong}] is ${told(value[wrong])}`)
  return value
}

function coloursOf(value: unknown, name: string): number[] {
  const list = listOf(value, `input.${name}`, (one) => typeof one === 'number' && Number.isFinite(one))
  if (list.length !== 3) throw bad(`input.${name} has to have three numbers`)
  return list as number[]
}

function wordOf(fields: Fields, name: string, form: RegExp, wanted: string): string {
  const value = fields[name]
  if (typeof value !== 'string' || !form.test(value)) throw bad(`${name} is ${told(value)}, and has to be ${wanted}`)
  return value
}

function oneOf<const T extends string>(fields: Fields, name: string, known: readonly T[]): T {
  const found = known.find((each) => each === fields[name])
  if (found === undefined) throw bad(`${name} is ${told(fields[name])}, and has to be one of ${known.join(', ')}`)
  return found
}

function numberOf(fields: Fields, name: string, least: number, most: number): number {
  const value = fields[name]
  if (typeof value !== 'number' || !(value >= least && value <= most))
    throw bad(`${name} is ${told(value)}, and has to be a number from ${least} to ${most}`)
  return value
}

function wholeOf(fields: Fields, name: string, least: number, most: number): number {
  const value = numberOf(fields, name, least, most)
  if (!Number.isInteger(value)) throw bad(`${name} is ${value}, and has to be a whole number`)
  return value
}

function told(value: unknown): string {
  return value === undefined ? 'missing' : JSON.stringify(value).slice(0, 60)
}

function bad(why: string): Fault {
  return new Fault('bad_model', `The manifest of the model cannot be used: ${why}.`)
}
