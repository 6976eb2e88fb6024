/** Cameras that send as fast as they can, one as fast as it is read and one over UDP, beside two that are recorded. */
import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { forgetMost, mostResidentMb } from '#kit/test/process-memory.ts'
import { stateFolderOf } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { LONG_MS } from './camera.ts'
import { recordsEveryFrame } from './every-frame.ts'

const GIGABIT_PER_S = 125_000_000
/** What V8 leaves uncollected, twice over; the flood itself is ten times as much. */
const MOST_MORE_MB = 300

t.test('beside a flood of a gigabit a second each picture of others is kept, and who floods is named', async (t) => {
  const file = makeKeyFrame(stateFolderOf(t))
  const floods = await Promise.all((['tcp', 'udp'] as const).map((transport) => startFlood(t, transport, file)))
  await recordsEveryFrame(t, {
    ...{ cameras: 2, seconds: 20, mishap: () => undefined },
    async beside(boss, pid) {
      const beforeMb = forgetMost(pid)
      for (const { name, transport, url } of floods)
        t.equal((await boss.call('POST', '/api/discovery/rtsp', { name, transport, url })).status, 201)
      return async () => {
        const moreMb = mostResidentMb(pid) - beforeMb
        t.comment(`at most ${moreMb.toFixed(0)} MB more than ${beforeMb.toFixed(0)} MB`)
        t.ok(moreMb < MOST_MORE_MB, 'its memory stays within its bounds')
        for (const { name, sent, transport } of floods) {
          const bytesPerS = await sent()
          t.comment(`${name}: ${((bytesPerS * 8) / 1e9).toFixed(2)} Gbit/s`)
          if (transport === 'udp') t.ok(bytesPerS > GIGABIT_PER_S, 'the flood was one')
          await until(
            `${name} is named`,
            async () => {
              const { body } = await boss.call('GET', '/api/ledger')
              const said = ({ sentence, where }: { sentence: string; where: string }) =>
                where === name && sentence.includes('cameras.bytes_per_s allows')
              return body.entries.some(said)
            },
            LONG_MS,
          )
        }
      }
    },
  })
})

/** One key frame of noise, which one packet carries. */
function makeKeyFrame(folder: string): string {
  const file = join(folder, 'key.h264')
  const source = 'testsrc2=size=320x180,noise=alls=40:all_seed=1'
  const coding = ['-c:v', 'libx264', '-tune', 'zerolatency', '-x264-params', 'sliced-threads=0', '-qp', '20']
  // Without what the encoder says of itself.
  const form = ['-pix_fmt', 'yuv420p', '-bsf:v', 'filter_units=remove_types=6', '-f', 'h264', file]
  execFileSync('ffmpeg', ['-v', 'error', '-f', 'lavfi', '-i', source, '-frames:v', '1', ...coding, ...form])
  return file
}

async function startFlood(t: Test, transport: 'tcp' | 'udp', file: string) {
  const child = fork(join(import.meta.dirname, 'peer/flooding-camera-child.ts'), [file])
  t.teardown(() => child.disconnect())
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  return {
    ...{ name: `Flood over ${transport}`, transport, url: `rtsp://127.0.0.1:${port}/live` },
    /** @returns bytes a second that it sent while it was played */
    async sent(): Promise<number> {
      child.send('how much')
      const [{ bytes, ms }] = (await once(child, 'message')) as [{ bytes: number; ms: number }]
      return (bytes * 1000) / ms
    },
  }
}
