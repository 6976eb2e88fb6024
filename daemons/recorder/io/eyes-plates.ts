/** Plates for the process plantroom-eyes, where the package plantroom-recognition has put its networks beside it. */
import { dirname, join } from 'node:path'
import { Fault } from '#kit/pure/fault.ts'
import type { RgbPicture } from '../wire/model-input.ts'
import { findingInput, linesOf, platesAmong, type ReadPlate, readingInput, textOfLine } from '../wire/plate-reading.ts'
import { loadNetworkFile, readFileOf } from './eyes-runtime.ts'

const MOST_MANIFEST_BYTES = 131_072

/** Looks for plates. */
export type PlateReader = (picture: RgbPicture) => Promise<ReadPlate[]>

/** @throws Fault `bad_model`, `model_unfit`; or as the runtime says */
export async function loadPlateReader(manifestPath: string): Promise<PlateReader> {
  const { characters, find, read } = readPlateManifest(readFileOf(manifestPath, 'manifest', MOST_MANIFEST_BYTES))
  const folder = dirname(manifestPath)
  const finder = await loadNetworkFile(join(folder, find.file), find.sha256)
  const reader = await loadNetworkFile(join(folder, read.file), read.sha256)
  const signs = [...characters]

  return async (picture) => {
    const [map] = await finder.compute(findingInput(picture), finder.outputNames.slice(0, 1))
    const lines = []
    for (const line of map ? linesOf(map, picture) : []) {
      const [told] = await reader.compute(readingInput(picture, line), reader.outputNames.slice(0, 1))
      if (told) lines.push({ ...line, ...textOfLine(told, signs) })
    }
    return platesAmong(lines, picture)
  }
}

interface PlateManifest {
  characters: string
  find: { file: string; sha256: string }
  read: { file: string; sha256: string }
}

function readPlateManifest(bytes: Buffer): PlateManifest {
  const text = (value: unknown): value is string => typeof value === 'string' && value.length > 0
  try {
    const { characters, find, read } = JSON.parse(bytes.toString()) as PlateManifest
    if (text(characters) && [find, read].every(({ file, sha256 }) => text(file) && text(sha256) && !file.includes('/')))
      return { characters, find, read }
  } catch {
    // Said below.
  }
  throw new Fault('bad_model', 'The manifest of the plates cannot be read. Install plantroom-recognition again.')
}
