/** The commands on footage of a stopped recorder: check, rebuild, export. */
import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { systemClock } from '#kit/clock.ts'
import { createLog } from '#kit/log.ts'
import { Fault } from '#kit/pure/fault.ts'
import { counted } from '#kit/pure/text.ts'
import { openRecords } from '#kit/records/records.ts'
import { exitCodes } from '#kit/run/arguments.ts'
import type { CommandCall, DaemonCommand } from '#kit/run/daemon-command.ts'
import { lockState, writeWhole } from '#kit/run/state-folder.ts'
import type { RecorderConfig } from '../config.ts'
import { isMasked } from '../core/cameras/masks.ts'
import { type Cut, cutOf } from '../core/footage/footage.ts'
import { checkFootage, type FolderCheck } from '../io/footage-check.ts'
import { INDEX_FILE } from '../io/footage-index.ts'
import { streamCut, tracksOfFile } from '../io/footage-reader.ts'
import type { Footage } from '../io/footage-store.ts'
import { openCameras } from '../io/state-files.ts'
import { footageOf, indexFolderOf, type StorageContext, storageOf } from './footage.ts'

type Call = CommandCall<RecorderConfig>

const files = { makesState: false }

export const storageCommands: readonly DaemonCommand<RecorderConfig>[] = [
  {
    name: 'check',
    form: '',
    summary: 'compare every file of footage with the index, and change nothing',
    help: `Reads every file in every folder of footage and lists where the files and the index differ: broken ends, files that are not in
the index, and files that are gone. Ends with 1 if there is any. Stop the recorder first.
`,
    ...{ words: [0, 0] as const, files, options: {} },
    run: check,
  },
  {
    name: 'rebuild',
    form: '',
    summary: 'rebuild the index from the files',
    help: `Rebuilds the index from the files in all folders; the old index is kept beside it. Broken ends of files are cut off, and files
with nothing whole in them are removed. A disk that is away is read when it is back. Stop the recorder first.
`,
    ...{ words: [0, 0] as const, files, options: {} },
    run: rebuild,
  },
  {
    name: 'export',
    form: 'CAMERA FROM TO FILE',
    summary: 'write a stretch of a camera as one MP4 file',
    help: `CAMERA is a name or an id. FROM and TO are epoch milliseconds or times such as 2031-03-09T14:05:00Z. The file begins at FROM,
and ends early if the camera's picture format changes. The export is written to the journal. A camera with privacy masks is
refused. Stop the recorder first; while it runs, GET /api/cameras/ID/playback.mp4 gives the same, with masks painted.
`,
    ...{ words: [4, 4] as const, files: { ...files, writes: 3 }, options: {} },
    run: exportStretch,
  },
]

/** Runs with nobody else on the footage. @throws Fault `state_locked` while a recorder runs */
async function alone(call: Call, task: (context: StorageContext) => Promise<number>): Promise<number> {
  const { config, stateFolder } = call
  const lock = lockState(stateFolder)
  try {
    // The call that met it says so.
    const onIndexDamaged = () => {}
    return await task({ config, stateFolder, clock: systemClock, log: createLog({ level: 'error' }), onIndexDamaged })
  } finally {
    lock.release()
  }
}

const SKIPPED = {
  'no marker': 'no disk of footage is there',
  'another disk': 'another disk than before is there',
} as const

function check(call: Call): Promise<number> {
  return alone(call, async (context) => {
    const book = await storageOf(context)
    let isFine = true
    for await (const found of checkFootage(indexFolderOf(context), book.folders())) {
      call.out(`${checkWords(found)}\n`)
      isFine &&= found.skipped === undefined && found.faults.length === 0
    }
    return isFine ? exitCodes.fine : exitCodes.failed
  })
}

function checkWords({ bytes, faults, files, folder, skipped }: FolderCheck): string {
  if (skipped) return `${folder}: ${SKIPPED[skipped]}.`
  const verdict = faults.length === 0 ? 'all as in the index' : `${faults.length} not as they should be`
  const lines = faults.map(({ path, what }) => `  ${path}: ${what}`)
  return [`${folder}: ${counted(files, 'file')}, ${bytes} bytes, ${verdict}.`, ...lines].join('\n')
}

/** Told by nobody but the lines of the command. */
const UNTOLD = { raise: () => {}, clear: () => {} }

async function withFootage(context: StorageContext, use: (footage: Footage) => Promise<number>): Promise<number> {
  const footage = await footageOf(context, await storageOf(context), UNTOLD)
  try {
    return await use(footage)
  } finally {
    await footage.close()
  }
}

function rebuild(call: Call): Promise<number> {
  return alone(call, async (context) => {
    const index = join(indexFolderOf(context), INDEX_FILE)
    // The one before stays until the next time: nobody knows yet that the new one is better.
    await rename(index, `${index}.before`).catch(() => {})
    for (const end of ['-wal', '-shm']) await rm(index + end, { force: true })
    return await withFootage(context, async (footage) => {
      await footage.found()
      const disks = footage.disks()
      for (const { fault, folder, footageBytes } of disks)
        call.out(`${folder}: ${fault ? fault.message : `${footageBytes} bytes of footage.`}\n`)
      return disks.every(({ fault }) => !fault) ? exitCodes.fine : exitCodes.failed
    })
  })
}

function exportStretch(call: Call): Promise<number> {
  const [said = '', from = '', to = '', file = ''] = call.words
  const [startAt, endAt] = [instantOf(from), instantOf(to)]
  if (endAt <= startAt) throw new Fault('bad_span', 'TO is not after FROM.')
  return alone(call, async (context) => {
    const camera = await cameraOf(context, said)
    return await withFootage(context, async (footage) => {
      await footage.found()
      const files = footage.between(camera.id, startAt, endAt)
      const cut = await cutOf({ files, startAt, endAt, tracksOf: tracksOfFile })
      const path = resolve(file)
      await writeDown(context, camera, { startAt, endAt, path })
      await writeCut(path, cut)
      const last = cut.fragments.at(-1)?.place.wallMs ?? startAt
      call.out(
        `${path}: ${camera.name}, ${counted(cut.fragments.length, 'group')} up to ${new Date(last).toISOString()}.\n`,
      )
      return exitCodes.fine
    })
  })
}

/** @throws Fault `bad_span` */
function instantOf(text: string): number {
  const at = /^\d+$/.test(text) ? Number(text) : Date.parse(text)
  if (Number.isSafeInteger(at)) return at
  throw new Fault('bad_span', `${JSON.stringify(text)} is no time: write epoch milliseconds, or 2031-03-09T14:05:00Z.`)
}

/** One that was removed is known by its id alone. @throws Fault `unknown_camera`, `camera_masked` */
async function cameraOf({ log, stateFolder }: StorageContext, said: string): Promise<{ id: string; name: string }> {
  const { records } = await openCameras(stateFolder, log)
  const found = records.find(({ id, name }) => id === said || name === said)
  if (found && isMasked(found))
    throw new Fault(
      'camera_masked',
      `${found.name} has privacy masks, which this command cannot paint. Start the recorder and save the stretch from its page.`,
    )
  if (found) return found
  if (/^[0-9a-f]{8}$/.test(said)) return { id: said, name: said }
  const names = records.map(({ name }) => name).join(', ')
  throw new Fault('unknown_camera', `There is no camera ${JSON.stringify(said)}; there are: ${names || 'none'}.`)
}

/** Into the journal, before the first byte. */
async function writeDown(
  context: StorageContext,
  camera: { id: string; name: string },
  { endAt, path, startAt }: { startAt: number; endAt: number; path: string },
): Promise<void> {
  const records = openRecords(context)
  const detail = { camera: camera.id, start: startAt, duration: (endAt - startAt) / 1000, file: path }
  records.journal.record({ who: 'plantroom', from: 'console', what: 'footage taken out', target: camera.name, detail })
  await records.close()
}

async function writeCut(path: string, cut: Cut): Promise<void> {
  const write = async (descriptor: number) => {
    await pipeline(
      streamCut(cut, () => true),
      createWriteStream('', { fd: descriptor, autoClose: false }),
    )
    return true
  }
  await writeWhole(path, write).catch((cause) => {
    throw new Fault('export_failed', `${path} cannot be written (${cause.code ?? cause.message})`, { cause })
  })
}
