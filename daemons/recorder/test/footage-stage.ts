/** Footage on folders of a test: files of fragments of one second. */
import { join } from 'node:path'
import type { Test } from 'tap'
import { type FakeClock, fakeClock } from '#kit/clock-fake.ts'
import type { Fault } from '#kit/pure/fault.ts'
import type { Fragment } from '../core/ports.ts'
import type { DiskHealth } from '../core/storage/disks.ts'
import { type Footage, type Keeping, openFootage, type StoreLimits } from '../io/footage-store.ts'
import { writeFragment, writeHead } from '../wire/mp4-write.ts'
import { withLengths } from '../wire/pictures.ts'
import { h265Sets as sets } from './parameter-sets.ts'

export const facts = sets.codec.factsOf(sets.units)
export const head = writeHead({ sets, facts, hiddenTicks: 0 })
export const START = 1_900_000_000_000

interface StageWish {
  /** Below the folder of the test, or whole paths. */
  folders?: readonly (string | { folder: string; isOwn: boolean })[]
  limits?: Partial<StoreLimits>
  keeping?: Partial<Keeping>
  clock?: FakeClock
  /** Which disk was seen where. */
  known?: Map<string, string>
  root?: string
}

export interface FootageStage {
  clock: FakeClock
  footage: Footage
  root: string
  /** Folders by the order in which they were wished for. */
  folders: string[]
  known: Map<string, string>
  faults: (Fault | undefined)[]
  /** Codes of faults of the index. */
  damaged: string[]
  /** Each state that a disk came to, with the name of its folder. */
  states: string[]
}

const limits: StoreLimits = {
  ...{ flushMs: 5000, queueBytes: 1e6, totalQueueBytes: 2e6, lookMs: 2000, stuckMs: 2500, proveMs: 5000 },
}
const keeping: Keeping = {
  ...{ keepMs: () => 1e12, keepBytes: () => 1e12, freeBytes: () => 0, isHeld: () => false },
}

export async function openStage(t: Test, wish: StageWish = {}): Promise<FootageStage> {
  const { clock = fakeClock(START + 86_400_000), folders = ['disk'], known = new Map(), root = t.testdir({}) } = wish
  const faults: FootageStage['faults'] = []
  const damaged: string[] = []
  const states: string[] = []
  const placed = folders.map((one) => (typeof one === 'string' ? { folder: one, isOwn: true } : one))
  const paths = placed.map(({ folder }) => (folder.startsWith('/') ? folder : join(root, folder)))
  const footage = await openFootage({
    ...{ folder: join(root, 'index'), stateFolder: root, clock },
    folders: placed.map(({ isOwn }, at) => ({ folder: paths[at] ?? '', isOwn, id: known.get(paths[at] ?? '') })),
    limits: { ...limits, ...wish.limits },
    keeping: { ...keeping, ...wish.keeping },
    onKnown: async (folder, id) => void known.set(folder, id),
    onDisk: ({ folder, state }: DiskHealth) => void states.push(`${folder.split('/').at(-1)} ${state}`),
    onFault: (fault) => void faults.push(fault),
    onIndexDamaged: ({ code }) => void damaged.push(code),
  })
  return { clock, footage, root, folders: paths, known, faults, damaged, states }
}

const PICTURE = [{ data: withLengths([new Uint8Array(500)]), isKey: true, durationTicks: 90_000, offsetTicks: 0 }]

/** @param onDone called once it is not needed any more */
export function fragmentOf(bytes: Uint8Array, onDone = () => {}): Fragment {
  return { pieces: [bytes], heldBytes: bytes.length, onDone }
}

/** Begins a file, and gives it fragments of one second. */
export function record({ footage }: Pick<FootageStage, 'footage'>, camera: string, startAt: number, seconds: number) {
  const file = footage.begin({ camera, startAt, facts, head })
  for (let at = 0; at < seconds; at++) {
    const time = { decodeTicks: at * 90_000, durationTicks: 90_000, wallMs: startAt + at * 1000, isKey: true }
    file.append(fragmentOf(writeFragment({ ...time, sequence: at + 1, samples: PICTURE })), time)
  }
  return file
}

export function spansOf({ footage }: Pick<FootageStage, 'footage'>, camera = 'aa') {
  return footage.spans(camera, 0, START * 2).map(({ endAt, startAt }) => ({ startAt, endAt }))
}

/** Waits for the disk. */
export async function settled(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setImmediate(resolve))
}
