/** A decoder with real receivers and real output in this process; the test provides announcements and clock. */
import { join } from 'node:path'
import type { Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import { createReader } from '#kit/http/check.ts'
import type { Ask } from '#kit/http/route.ts'
import { silentLog } from '#kit/log.ts'
import { createParts } from '#kit/run/parts.ts'
import { until } from '#kit/test/until.ts'
import type { BoardConfig } from '../../../config.ts'
import { firstSettings } from '../../../core/settings/settings.ts'
import { audioKeys } from '../../../core/sound/keys.ts'
import type { HeardStream } from '../../../core/streams/book.ts'
import { openAudioClock } from '../../../io/sound.ts'
import { ptpView } from '../../../test/core/ptp/fake-ptp.ts'
import { assembleDecoder } from '../assemble.ts'
import type { DecoderView } from '../core/decoder-view.ts'

/** MAC address of the loopback interface: streams that name it use this machine's clock. */
export const OWN_MAC = '00-00-00-00-00-00'
export const PORT = 15_004

/** Polls often, with short waits. */
const HERE = { interface: 'lo', realtime_priority: 0, look_ms: 50, sender_gone_ms: 300 }

/** Records to a file; loopback plays, with reserve for a busy machine. */
export async function decoderHere(t: Test, streams: HeardStream[] = [], config: Partial<BoardConfig['audio']> = {}) {
  const folder = t.testdir()
  const file = join(folder, 'heard.wav')
  const parts = createParts({ log: silentLog, clock: systemClock })
  const note = async () => {}
  const first = firstSettings({ role: 'decoder', hostname: 'here', mcast: '' })
  const house = await assembleDecoder(
    {
      ...{ clock: systemClock, log: silentLog, stateFolder: folder, parts, onChange() {} },
      recorder: { changed: note, sent: note },
      refusals: { add() {} },
    },
    {
      config: { ...createReader(audioKeys)({}), ...HERE, sink: `file:${file}`, ...config },
      settings: { ...first, link_ms: 400 },
      audio: openAudioClock(),
      ptp: {
        view: () => ptpView({ enabled: false, state: 'off' }),
        refClock: () => ({ kind: 'localmac', mac: OWN_MAC }),
        isLocked: () => false,
        onChange: () => () => {},
      },
      listen: () => ({
        list: () => streams,
        find: (group, port) =>
          streams.filter((one) => [one, one.dup].some((path) => path?.mcast === group && path.port === port)),
      }),
    },
  )
  await parts.start()
  t.teardown(() => parts.stop())
  const call = async (method: string, path: string, body = {}) =>
    await house.routes
      .find((one) => one.method === method && one.path === path)
      ?.handle({ body, caller: undefined, remoteAddress: '127.0.0.1' } as unknown as Ask<never, never, never>)
  const view = () => house.state() as DecoderView
  return {
    ...{ call, file, house, view, stop: () => parts.stop() },
    play: (group: string) => call('POST', '/api/route', { mcast: group, port: String(PORT) }),
    /** Waits until a link of the chain has a code. @returns its sentence */
    async reason(name: string, code: string | null): Promise<string> {
      const check = () => view().checks.find((one) => one.name === name)
      await until(`${name} is ${code}`, () => check()?.state !== 'not_judged' && check()?.code === code)
      return check()?.text ?? ''
    },
  }
}
