/**
 * Measures the detector that comes along: what it finds in ten pictures of a street of which the truth was drawn by hand, and what
 * a picture costs. Prints a table and adds it to docs/bench/detector.md.
 *
 *     node scripts/bench/detector.ts [--pictures N] [--note TEXT] [--print]
 *
 * --pictures: looked at for the cost; --note: the conditions of the run; --print: leave docs/bench unchanged
 */
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { mostResidentMb } from '#kit/test/process-memory.ts'
import { eyesCommand } from '../../daemons/recorder/io/eyes-command.ts'
import { startEyes } from '../../daemons/recorder/test/eyes-stage.ts'
import { judgeBoxes, picturesOf, SCENE_NUMBERS, streetFilm } from '../../daemons/recorder/test/street-film.ts'
import { chapterOf, optionOf, recordChapter, tableRow } from './chapter.ts'
import { cpuSecondsOf } from './figures.ts'

const HEAD = `# What the detector finds, and what it costs

Made by \`make bench-detector\`: \`plantroom-eyes\` with NanoDet-g, one thread, its JavaScript included. What it finds is counted in ten
pictures of \`vtest.avi\` (opencv-doc of Debian) with 53 persons and two parked vehicles, whose boxes were drawn by hand: a person is found
where box and truth share half of the area that both cover. A recorder hands it pictures in the camera's proportions; the film has 4:3.
The threshold of the manifest was chosen on these pictures, and looked at on 79 others of the same film for false ones alone.
`

/** As a recorder hands them over: of the film's own proportions, of 16:9, and of a camera on its side. */
const SIZES: readonly (readonly [number, number])[] = [
  [416, 312],
  [416, 234],
  [234, 416],
]

async function main(): Promise<void> {
  const [load = 0] = loadavg()
  if (eyesCommand() === undefined) throw new Error('the detector is not built: make detector')
  const film = streetFilm()
  if (film === undefined) throw new Error('opencv-doc, which has the film, is not installed and cannot be fetched')
  const many = Number(optionOf('--pictures') ?? 200)
  const eyes = startEyes()
  await eyes.said()
  const pid = eyes.pid ?? 0
  const told = []
  const [[width, height] = [0, 0]] = SIZES
  for (const rgb of picturesOf(film, SCENE_NUMBERS, width, height))
    told.push((await eyes.look({ width, height, rgb })).boxes as [])
  const found = judgeBoxes(told, 0.4)
  const rows = [
    tableRow(['persons found', `${found.personsFound} of ${found.persons}`]),
    tableRow(['persons where there are none, in ten pictures', String(found.false.length)]),
    tableRow(['vehicles found', `${found.vehiclesFound} of ${found.vehicles}`]),
  ]
  for (const [width, height] of SIZES) {
    const pictures = picturesOf(film, SCENE_NUMBERS, width, height)
    const began = cpuSecondsOf(pid)
    for (let at = 0; at < many; at++)
      await eyes.look({ width, height, rgb: pictures[at % pictures.length] ?? new Uint8Array() })
    const seconds = (cpuSecondsOf(pid) - began) / many
    const cost = `${(1000 * seconds).toFixed(1)} ms of a core, ${(1 / seconds).toFixed(1)} pictures a second on one`
    rows.push(tableRow([`a picture of ${width} x ${height}`, cost]))
  }
  rows.push(tableRow(['memory, at most', `${mostResidentMb(pid).toFixed(0)} MB`]))
  await eyes.end()
  const chapter = chapterOf({ heads: ['what', 'measured'], rows, rounds: 1, load, note: optionOf('--note') })
  console.log(chapter)
  if (!process.argv.includes('--print'))
    recordChapter(join(import.meta.dirname, '../../docs/bench/detector.md'), HEAD, chapter)
}

await main()
