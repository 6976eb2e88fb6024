/**
 * Updates a board whose whole system is a firmware image: check, download and proof as of an update (apply.ts), then the
 * image is handed to the board, which proves it by its own keys, has it installed, and restarts. Which image runs then says
 * what came of it. Every step may be killed at any instant and run again: `image.json` says how far it was.
 */
import { rm } from 'node:fs/promises'
import { Fault } from '../pure/fault.ts'
import { durationText } from '../pure/text.ts'
import { makeFolder } from '../store/store.ts'
import {
  download,
  type Fetching,
  type FetchParts,
  findOffer,
  type ProvenOffer,
  stepsOf,
  underLock,
  verify,
} from './apply.ts'
import { type Board, type BoardAbout, boardAt } from './board-socket.ts'
import { decryptFile, plainBytes } from './container.ts'
import { type Switched, sentenceOf, type UpdateHooks, type UpdateOutcome, type UpdateStep } from './switch.ts'
import { type PendingImage, reasonOf, updateMemory } from './update-memory.ts'
import type { ImageSettings } from './update-settings.ts'

/** A board, and who updates it. */
export interface ImageParts extends FetchParts {
  image: ImageSettings
  /** Of all daemons of the machine. */
  hooks: Pick<UpdateHooks, 'activeDaemons' | 'backup' | 'hold' | 'restart' | 'restore'>
}

/**
 * Brings an image under way to its end, if there is one: after a start of the machine.
 * @returns undefined if there was none, or if it has to be handed over once more
 * @throws Fault as `applyImage`
 */
export async function settleImage(parts: ImageParts): Promise<Switched | undefined> {
  return await locked(parts, 'settle', settle)
}

/**
 * Asks the server whether there is an image that this board may take.
 * @throws Fault as `checkForUpdate`, `image_board_silent`, `image_not_taken`
 */
export async function checkForImage(parts: ImageParts): Promise<UpdateOutcome> {
  return await locked(parts, 'check', async (run) => {
    const about = await aboutBoard(run)
    await noticeReturn(run, about)
    const found = await findOffer(run, about.runs)
    if ('outcome' in found) return found
    return { outcome: 'available', version: found.version, from: about.runs, window: found.window }
  })
}

/**
 * Installs the image that the server offers, if there is one; first it ends one that was cut off. Resolves when the board
 * runs it and answers, or runs another one.
 * @throws Fault as `checkForImage`, of the download and the container, `image_refused`,
 * `update_put_off` if another image is being installed
 */
export async function applyImage(parts: ImageParts): Promise<UpdateOutcome> {
  return await locked(parts, 'apply', async (run) => {
    const settled = await settle(run)
    if (settled !== undefined) return settled
    const about = await aboutBoard(run)
    const found = await findOffer(run, about.runs)
    if ('outcome' in found) return found
    run.say(`${found.version} is there, ${about.runs} runs`, 'check')
    return await bring(run, found, about)
  })
}

interface Run extends Fetching {
  parts: ImageParts
  board: Board
}

async function locked<Result extends UpdateOutcome | undefined>(
  parts: ImageParts,
  task: 'check' | 'apply' | 'settle',
  work: (run: Run) => Promise<Result>,
): Promise<Result> {
  const { clock, image, state } = parts
  // No folder of releases is changed here: the lock is that of the state.
  await makeFolder(state)
  return await underLock(parts, state, task, (say) =>
    work({ parts, board: boardAt(image, clock), memory: updateMemory(state), clock, say }),
  )
}

async function settle(run: Run): Promise<Switched | undefined> {
  const known = await run.memory.image()
  if (known === undefined || known.phase === 'fetching') return undefined
  if (known.phase === 'applied') {
    // The board may still be starting. It is asked again at every check.
    const about = await run.board.about().catch(() => undefined)
    return about && (await noticeReturn(run, about))
  }
  run.say(`the image ${known.version} was handed over, and is seen to its end`, 'check')
  return await watch(run, known)
}

/** @throws Fault `image_not_taken` if the board would refuse each image that this machine asks for */
async function aboutBoard({ board, parts: { image } }: Run): Promise<BoardAbout> {
  const about = await board.about()
  if (about.compatible === image.compatible) return about
  throw new Fault(
    'image_not_taken',
    `the board takes images for ${about.compatible} (ota.compatible of board.toml), and image.compatible of update.toml says ${image.compatible}`,
  )
}

/** Somebody, or the boot loader, may have gone back from an image long after it had run well: it is not tried again. */
async function noticeReturn(run: Run, { runs }: BoardAbout): Promise<Switched | undefined> {
  const known = await run.memory.image()
  if (known?.phase !== 'applied' || known.version === runs) return undefined
  if (runs === known.from_version) return await cameBack(run, known, runs)
  // Another one was installed by hand.
  await run.memory.clearImage()
  return undefined
}

// To the board.

async function bring(run: Run, offered: ProvenOffer, about: BoardAbout): Promise<UpdateOutcome> {
  const { memory, parts } = run
  if (about.missing !== null) throw new Fault('image_not_taken', about.missing.message)
  if (about.state !== 'idle' && about.state !== 'failed') throw busy()
  const before = await memory.image()
  const isSame = before?.checksum === offered.checksum
  // In this order: the part never is one of another image than the journal says.
  if (!isSame) await rm(memory.part, { force: true })
  const { checksum, version } = offered
  const begun: PendingImage = {
    ...{ phase: 'fetching', version, checksum, from_version: about.runs, run: '', daemons: [], backup: null },
    tries: isSame ? before.tries : 0,
  }
  await memory.saveImage(begun)
  const step = stepsOf(run, version, isRefusedForGood)
  // The board keeps the whole image too while it installs it.
  await step('download', () => download(run, offered, offered.size))
  await step('verify', () => verify({ say: run.say, part: run.memory.part }, offered))
  const { hooks } = parts
  const daemons = await hooks.activeDaemons()
  const backup = await step('backup', () => hooks.backup(daemons, { from: about.runs, to: version }))
  if (backup !== null) run.say(`the states are kept in ${backup}`, 'backup')
  // Not a step: an image that is put off has not failed, and the server is not told that it has.
  const held = await hooks.hold(daemons, (sentence) => run.say(sentence, 'install'))
  try {
    const handed = { phase: 'installing' as const, run: about.run, tries: begun.tries + 1, daemons, backup }
    const next: PendingImage = { ...begun, ...handed }
    const isTaken = await step('install', () => install(run, next, offered))
    if (!isTaken) throw busy()
    const came = await watch(run, { ...next, phase: 'installed' })
    if (came !== undefined) return came
    throw new Fault('image_refused', `the board did not install the image ${version}: look at its log`)
  } finally {
    held.release()
  }
}

function busy(): Fault {
  return new Fault('update_put_off', 'the board takes another image just now: nothing was changed, try again later')
}

/** @returns whether the board took it; false if it is busy with another one */
async function install({ board, memory, say }: Run, next: PendingImage, offered: ProvenOffer): Promise<boolean> {
  const { encryption_key, size, version } = offered
  await memory.saveImage(next)
  say(`${version} is handed to the board`, 'install')
  try {
    await board.install(decryptFile(memory.part, Buffer.from(encryption_key, 'hex')), plainBytes(size))
  } catch (fault) {
    const { code } = fault as Fault
    // A board that does not answer may have installed it: what it runs after its next start tells.
    if (code === 'image_board_silent') throw fault
    await memory.saveImage({ ...next, phase: 'fetching' })
    if (codeOfBoard(fault) === 'ota_busy') return false
    if (isRefusedForGood('install', fault as Fault) || codeOfBoard(fault) === 'image_no_room')
      await rm(memory.part, { force: true })
    throw fault
  }
  await memory.saveImage({ ...next, phase: 'installed' })
  await rm(memory.part, { force: true })
  say(`${version} is installed, and the board restarts`, 'install')
  return true
}

/** Refusals that trying again does not change; a missing key, program or room on the disk can be put right. */
const REFUSED_FOR_GOOD: ReadonlySet<unknown> = new Set(
  ['unknown', 'wrong_board', 'too_old', 'damaged', 'length'].map((why) => `image_${why}`),
)

function isRefusedForGood(name: UpdateStep, fault: Fault): boolean {
  return name === 'install' && (REFUSED_FOR_GOOD.has(codeOfBoard(fault)) || /^container_(?!wrong_key)/.test(fault.code))
}

function codeOfBoard(fault: unknown): unknown {
  return fault instanceof Fault && fault.code === 'image_refused' ? fault.details?.code : undefined
}

// What came of it.

/**
 * Waits until the board has restarted, and has run the image for the probation.
 * @returns undefined if the image was not installed after all
 * @throws Fault `image_board_silent` if it does not come back in time: it is seen to its end the next time
 */
async function watch(run: Run, begun: PendingImage): Promise<Switched | undefined> {
  const { board, clock, memory, parts, say } = run
  const { image, settings } = parts
  const begunMs = clock.monotonicMs()
  let known = begun
  let well: { start: string; sinceMs: number } | undefined
  for (;;) {
    const about = await board.about().catch(() => undefined)
    const nowMs = clock.monotonicMs()
    if (about === undefined) well = undefined
    else if (about.run === known.run) {
      if (known.phase === 'installing' && (about.state === 'idle' || about.state === 'failed')) {
        await memory.saveImage({ ...known, phase: 'fetching' })
        return undefined
      }
      if (known.phase === 'installing' && about.state === 'installed') {
        known = { ...known, phase: 'installed' }
        await memory.saveImage(known)
      }
    } else {
      if (about.runs !== known.version) return await returned(run, known, about)
      if (well?.start !== about.start) {
        well = { start: about.start, sinceMs: nowMs }
        say(`${about.runs} answers; it is watched for ${Math.ceil(settings.probation_ms / 1000)} s`, 'prove')
      }
      if (nowMs - well.sinceMs >= settings.probation_ms) return await applied(run, known)
    }
    if (nowMs - begunMs >= image.restart_ms + settings.probation_ms)
      throw new Fault(
        'image_board_silent',
        `the board is not back after ${durationText(nowMs - begunMs)}: it is looked at again with the next update, or at the next start of the machine`,
      )
    await new Promise<void>((resolve) => clock.after(settings.probe_ms, resolve))
  }
}

async function applied({ memory, say }: Run, known: PendingImage): Promise<Switched> {
  const { from_version: from, version } = known
  await memory.remember({ report: { applied: version } })
  await rm(memory.part, { force: true })
  await memory.saveImage({ ...known, phase: 'applied' })
  say(`${version} is applied`, 'prove')
  return { outcome: 'applied', version, from }
}

/** The board has restarted, and does not run the image. */
async function returned(run: Run, known: PendingImage, { runs }: BoardAbout): Promise<Switched | undefined> {
  const { parts, say } = run
  const { from_version, phase, tries, version } = known
  // The power may have failed before the board had all of it.
  if (phase === 'installing' && runs === from_version && tries < parts.settings.tries) {
    say(`${version} was not installed before the board restarted: it is handed over once more`, 'install')
    await run.memory.saveImage({ ...known, phase: 'fetching' })
    return undefined
  }
  return await cameBack(run, known, runs)
}

async function cameBack(run: Run, known: PendingImage, to: string): Promise<Switched> {
  const { clock, memory, say } = run
  const { phase, tries, version } = known
  const reason = reasonOf(
    {
      installed: `the board was to start ${version}, and came back with ${to}`,
      applied: `${version} had run, and the board went back to ${to}`,
    }[phase as string] ?? `it was handed to the board ${tries} times, and each time ${to} ran afterwards`,
  )
  // Once an image has run well, what the daemons have saved since then is worth more than the backup.
  if (phase !== 'applied') await restore(run, known)
  await memory.remember({
    report: { rolled_back: version, failed_step: 'prove', reason },
    bad: { version, reason, at: clock.epochMs() },
  })
  await rm(memory.part, { force: true })
  await memory.clearImage()
  say(`${to} runs; ${version} is not tried again: ${reason}`, 'undo')
  return { outcome: 'rolled_back', version, to, step: 'prove', reason }
}

/** The image may have changed the form of a state, which the one before cannot read. */
async function restore({ parts, say }: Run, { backup, daemons }: PendingImage): Promise<void> {
  if (backup === null) return
  try {
    await parts.hooks.restore(backup, daemons)
  } catch (cause) {
    say(`the backup ${backup} could not be put back (${sentenceOf(cause)}): put it back by hand`, 'undo')
  }
  await parts.hooks.restart(daemons)
}
