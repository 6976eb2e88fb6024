/** Tries to update by a delta. If anything is wrong with it, the log says so, and the archive is fetched. */
import { rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Fault } from '../pure/fault.ts'
import { makeFolder } from '../store/store.ts'
import { applyDelta } from './delta.ts'
import { sha256OfFile } from './installed.ts'
import { sentenceOf, type UpdateStep } from './switch.ts'
import type { Unpacked } from './unpack.ts'
import type { DeltaOffer } from './update-server.ts'
import type { UpdateSettings } from './update-settings.ts'

export interface DeltaParts {
  settings: Pick<UpdateSettings, 'unpacked_bytes' | 'delta_file_bytes'>
  /** What is made. */
  version: string
  bundle: string
  /** The folder of the release that runs. */
  before: string
  delta: DeltaOffer
  /** Where it is downloaded to; gone afterwards, unless it was cut and may go on. */
  file: string
  pull(): Promise<void>
  decrypted(): AsyncIterable<Uint8Array>
  /** @param fill makes the files of the release in a folder that is not there yet */
  make(fill: (folder: string) => Promise<Unpacked>): Promise<void>
  say(sentence: string, step: UpdateStep): void
}

/**
 * Makes a release out of the one that runs.
 * @returns false if the archive has to be fetched
 * @throws what `make` throws that is not of the delta
 */
export async function makeByDelta(parts: DeltaParts): Promise<boolean> {
  const { before, bundle, decrypted, delta, file, make, say, settings, version } = parts
  const leave = (cause: unknown, step: UpdateStep) => {
    say(`the delta from ${delta.from} is of no use (${sentenceOf(cause)}): the archive of ${version} is fetched`, step)
    return false
  }
  try {
    await fetchDelta(parts)
  } catch (cause) {
    if (!isCut(cause)) await rm(file, { force: true })
    return leave(cause, 'download')
  }
  const bounds = { unpackedBytes: settings.unpacked_bytes, fileBytes: settings.delta_file_bytes }
  let refused: unknown
  try {
    await make((folder) =>
      applyDelta(decrypted(), { before, folder, bundle }, bounds).catch((cause) => {
        refused = cause
        throw cause
      }),
    )
    return true
  } catch (cause) {
    if (cause !== refused) throw cause
    await rm(file, { force: true })
    return leave(cause, 'unpack')
  }
}

async function fetchDelta({ delta, file, pull, say, version }: DeltaParts): Promise<void> {
  await makeFolder(dirname(file))
  await pull()
  const seen = await sha256OfFile(file)
  if (seen !== delta.checksum)
    throw new Fault('update_wrong_checksum', `its SHA-256 is ${seen}, expected ${delta.checksum}`)
  const size = delta.size < 100_000 ? `${Math.ceil(delta.size / 1000)} kB` : `${(delta.size / 1e6).toFixed(1)} MB`
  say(`${version} comes as what has changed since ${delta.from}: ${size}`, 'download')
}

/** Whether the download can be resumed the next time. */
function isCut(cause: unknown): boolean {
  return cause instanceof Fault && ['update_download_cut', 'update_server_silent'].includes(cause.code)
}
