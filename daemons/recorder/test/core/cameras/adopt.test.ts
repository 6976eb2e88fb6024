import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import { Fault } from '#kit/pure/fault.ts'
import { createAdopter } from '../../../core/cameras/adopt.ts'
import type { OnvifSession } from '../../../core/cameras/onvif.ts'
import type { StreamListener, StreamPlace } from '../../../core/ports.ts'
import type { MediaProfile, OnvifOperation } from '../../../wire/onvif.ts'

const service = 'http://10.0.0.5/onvif/device_service'
const login = { username: 'ann', password: 'secret' }

interface Camera {
  profiles?: MediaProfile[]
  /** What plays; the others end with `fault`. */
  plays?: string[]
  fault?: Fault
  media?: { version: 1 | 2; address: string }[]
  /** Operations that fail, by the element of their answer, with the version of their service before it. */
  fails?: Record<string, Fault>
}

function stage({ fails = {}, fault, media, plays, profiles = all }: Camera = {}) {
  const clock = fakeClock()
  const asked: string[] = []
  const tried: StreamPlace[] = []
  const services = media ?? [{ version: 1 as const, address: 'http://192.168.1.10:8080/media' }]
  const session: OnvifSession = {
    async ask<Answer>(address: string, { answer, body }: OnvifOperation<Answer>): Promise<Answer> {
      const name = answer.replace('Response', '')
      asked.push(`${name} ${address}`)
      const failed = fails[`${body.includes('ver20') ? 2 : 1} ${name}`]
      if (failed) throw failed
      const token = /ProfileToken>([^<]*)/.exec(body)?.[1]
      const answers: Record<string, unknown> = {
        GetDeviceInformation: { manufacturer: 'Peer', model: 'PC-1' },
        GetServices: services,
        GetCapabilities: services,
        GetProfiles: profiles,
        GetStreamUri: `rtsp://192.168.1.10:8554/${token}`,
      }
      return answers[name] as Answer
    },
  }
  const opener = {
    async play(place: StreamPlace, listener: StreamListener, signal: AbortSignal) {
      tried.push(place)
      const token = place.url.split('/').at(-1) ?? ''
      if (token === 'stuck')
        return await new Promise<undefined>((done) => signal.addEventListener('abort', () => done(undefined)))
      if (plays?.includes(token) === false) return fault ?? new Fault('camera_unsupported', `${token} does not play`)
      listener.onPacket(new Uint8Array(12), 'pictures')
      return undefined
    },
  }
  const limits = { answerMs: 10_000, tries: 3 }
  const adopt = createAdopter({ clock, limits, opener, onvif: { open: async () => session } })
  return { adopt: () => adopt(service, login), asked, clock, tried }
}

const profile = (token: string, width: number, encoding = 'H264', fps = 25): MediaProfile => ({
  ...{ token, encoding, width, height: Math.round((width * 9) / 16), fps },
})
const all = [
  profile('tiny', 320),
  profile('main', 1920),
  profile('slow', 1920, 'H264', 5),
  profile('photo', 3840, 'JPEG'),
]

t.test('the highest profile that plays is recorded, the smallest is watched, at the host that answers', async (t) => {
  const { adopt, asked, tried } = stage()
  t.same(await adopt(), {
    ...{ manufacturer: 'Peer', model: 'PC-1' },
    ...{ url: 'rtsp://10.0.0.5:8554/main', subUrl: 'rtsp://10.0.0.5:8554/tiny' },
    link: { service, recordToken: 'main', watchToken: 'tiny', fps: 25, isHashed: true },
  })
  t.same(tried, [
    { url: 'rtsp://10.0.0.5:8554/main', ...login, isHashed: true },
    { url: 'rtsp://10.0.0.5:8554/tiny', ...login, isHashed: true },
  ])
  t.ok(asked.includes('GetProfiles http://10.0.0.5:8080/media'), 'not the address that it says')
  t.notOk(
    asked.some((one) => /^(?:Set|Create|Add|Remove|Delete)/.test(one)),
    'nothing in it is changed',
  )
})

t.test('a profile that does not play is passed over, and the fault of the best is told if none does', async (t) => {
  t.match(await stage({ plays: ['tiny'] }).adopt(), { url: 'rtsp://10.0.0.5:8554/tiny', subUrl: null })
  const many = [4000, 3000, 2000, 1000].map((width) => profile(`p${width}`, width))
  const { adopt, tried } = stage({ profiles: many, plays: [] })
  await t.rejects(adopt(), { code: 'camera_unsupported', message: 'p4000 does not play' })
  t.equal(tried.length, 3, 'as many as the setting says')
})

t.test('a stream that refuses the password ends it at once: cameras lock an account', async (t) => {
  const { adopt, tried } = stage({ plays: [], fault: new Fault('camera_refused', 'no') })
  await t.rejects(adopt(), { code: 'camera_refused' })
  t.equal(tried.length, 1)
})

t.test('a stream that is open and sends nothing does not play', async (t) => {
  const { adopt, clock } = stage({ profiles: [profile('stuck', 1920)] })
  const refused = t.rejects(adopt(), { code: 'camera_silent', message: /10 s/ })
  await clock.run(10_000)
  await refused
})

t.test('a smaller stream of H.265 is not watched, since not every browser plays it', async (t) => {
  const profiles = [profile('main', 1920, 'H265'), profile('mid', 1280), profile('tiny', 320, 'H265')]
  t.match(await stage({ profiles }).adopt(), { url: /main$/, subUrl: /mid$/ })
})

t.test('a camera that offers no video that is recorded says what it offers', async (t) => {
  await t.rejects(stage({ profiles: [profile('photo', 1920, 'JPEG')] }).adopt(), {
    ...{ code: 'camera_unsupported', message: /JPEG alone/ },
  })
  await t.rejects(stage({ profiles: [] }).adopt(), { code: 'camera_unsupported', message: /no video over ONVIF/ })
})

t.test(
  'an older camera is asked by the older ways, and what is broken in one service is asked of the other',
  async (t) => {
    const unable = new Fault('onvif_unsupported', 'what?')
    const old = stage({ fails: { '1 GetServices': unable } })
    await old.adopt()
    t.ok(old.asked.includes(`GetCapabilities ${service}`))
    const media = [
      { version: 2 as const, address: 'http://10.0.0.5/m2' },
      { version: 1 as const, address: 'http://10.0.0.5/m1' },
    ]
    const half = stage({ media, fails: { '2 GetProfiles': new Fault('onvif_failed', 'oops') } })
    await half.adopt()
    t.ok(half.asked.includes('GetStreamUri http://10.0.0.5/m1'))
    const refused = new Fault('camera_refused', 'no')
    await t.rejects(stage({ media, fails: { '2 GetProfiles': refused } }).adopt(), { code: 'camera_refused' })
  },
)
