/**
 * The clock of a board as a separate process, so that a test can give it a network and clocks. Ten times a second it
 * prints its state and readings of its clocks, one JSON per line.
 *
 *     node ptp-board-child.ts STATE_FOLDER INTERFACE PRIORITY1 [KEY=VALUE ...]
 */
import { Value } from 'typebox/value'
import { systemClock } from '#kit/clock.ts'
import { createLog } from '#kit/log.ts'
import { createParts } from '#kit/run/parts.ts'
import { createAudioClock } from '#native/node-gst/index.ts'
import { assemblePtp } from '../../assemble/house-of.ts'
import { ptpKeys } from '../../core/ptp/keys.ts'

const [stateFolder = '', onInterface = '', priority1 = '128', ...sets] = process.argv.slice(2)
const given = Object.fromEntries(sets.map((set) => set.split('=', 2) as [string, string]))
const config = Value.Parse(
  ptpKeys,
  Value.Convert(ptpKeys, Value.Default(ptpKeys, { interface: onInterface, ...given })),
)

const log = createLog({ level: 'debug' })
const parts = createParts({ log, clock: systemClock })
const audio = createAudioClock()
let changes = 0
const onChange = () => {
  changes++
}
const ptp = assemblePtp(
  { clock: systemClock, log, parts, stateFolder, onChange },
  { config, audioInterface: '', priority1: Number(priority1), clock: audio },
)
await parts.start()

const lines = setInterval(() => {
  const { audioNs, monotonicNs, realtimeNs } = audio.read()
  const cpu = process.cpuUsage()
  const clocks = { audio: `${audioNs}`, monotonic: `${monotonicNs}`, realtime: `${realtimeNs}` }
  const line = { ...ptp.view(), ref: ptp.refClock(), clocks, changes, cpu_us: cpu.user + cpu.system }
  process.stdout.write(`${JSON.stringify(line)}\n`)
}, 100)

async function end(): Promise<void> {
  clearInterval(lines)
  await parts.stop()
}
process.once('SIGTERM', () => void end())
