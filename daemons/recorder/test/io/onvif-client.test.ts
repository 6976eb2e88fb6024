import t, { type Test } from 'tap'
import { systemClock } from '#kit/clock.ts'
import { fakeClock } from '#kit/clock-fake.ts'
import { until } from '#kit/test/until.ts'
import { createOnvifClient } from '../../io/onvif-client.ts'
import { getDeviceInformation, getMediaServices, getProfiles } from '../../wire/onvif.ts'
import { type PeerTraits, startOnvifPeer } from '../peer/onvif-camera.ts'

const user = { username: 'onvif', password: 'pass&word' }
const HOST = '127.0.3.1'
const DAY_MS = 86_400_000
const limits = { answerMs: 60_000, answerBytes: 65_536 }

async function stage(t: Test, wish: Partial<PeerTraits> = {}, clock = systemClock) {
  const peer = await startOnvifPeer(t, { host: HOST, isFound: false, ...wish })
  const client = createOnvifClient({ clock, limits, userAgent: 'test' })
  const open = (login = user) => client.open(peer.service, login)
  const ask = async (login = user) => (await open(login)).ask(peer.service, getDeviceInformation)
  return { ask, open, peer }
}

const said = { manufacturer: 'Peer & Sons', model: 'PC-1' }

for (const signIn of ['any', 'wsse', 'digest'] as const)
  for (const aheadMs of [0, -20 * 365 * DAY_MS, 3 * DAY_MS])
    t.test(`a camera that wants ${signIn} is signed in to, its clock ${aheadMs / DAY_MS} days off`, async (t) => {
      const { ask, open, peer } = await stage(t, { signIn, aheadMs })
      t.same(await ask(), said)
      t.equal((await (await open()).ask(peer.service, getMediaServices)).length, 2)
      t.equal(peer.refused.length, signIn === 'digest' ? 2 : 0, 'one session is challenged once')
    })

t.test('a wrong password is tried once, or twice where the first try was the other way of signing in', async (t) => {
  for (const [signIn, tries] of [
    ['wsse', 1],
    ['digest', 2],
    ['nobody', 1],
  ] as const) {
    const { ask, peer } = await stage(t, { signIn })
    await t.rejects(ask({ ...user, password: 'wrong' }), { code: 'camera_refused' }, signIn)
    t.equal(peer.refused.length, tries)
  }
})

t.test('a camera that does not tell the time is taken to be right', async (t) => {
  for (const answer of ['<a:Envelope><a:Body><a:Fault/></a:Body></a:Envelope>', 'no such page']) {
    const { ask, peer } = await stage(t)
    peer.traits.instead = { GetSystemDateAndTime: answer }
    if (answer.startsWith('<')) t.same(await ask(), said)
    else await t.rejects(ask(), { code: 'onvif_broken' })
  }
})

t.test('a redirect is followed on the host alone', async (t) => {
  const { ask, peer } = await stage(t)
  peer.traits.redirect = (address) => address.replace('/onvif/device_service', '/moved')
  t.same(await ask(), said)
  const asked = peer.asked.length
  for (const next of [
    'http://127.0.0.1:1/',
    'http://169.254.169.254/latest',
    'file:///etc/passwd',
    '//127.0.0.1/',
    'http://[',
  ]) {
    peer.traits.redirect = () => next
    await t.rejects(ask(), { code: 'onvif_broken', message: /another host/ }, next)
  }
  t.equal(peer.asked.length, asked + 5)
  peer.traits.redirect = (address) => address
  await t.rejects(ask(), { code: 'onvif_broken', message: /from one address to the next/ })
})

t.test('nothing is sent to addresses of metadata services and of links', async (t) => {
  const client = createOnvifClient({ clock: systemClock, limits, userAgent: 'test' })
  for (const host of ['169.254.169.254', '[fe80::1]', '224.0.0.1', '0.0.0.0', '[::ffff:169.254.169.254]'])
    await t.rejects(client.open(`http://${host}/onvif`, user), { code: 'bad_target' }, host)
})

const bomb = `<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>`
t.test('hostile answers end with one named fault', async (t) => {
  const { ask, open, peer } = await stage(t)
  for (const [answer, message] of [
    ['endless', /more than 65536 bytes/],
    ['interim', /interim/],
    ['broken length', /broken HTTP \(HPE_/],
    [bomb, /document type/],
    ['<a>'.repeat(40), /deep/],
    [`<a>${'<b/>'.repeat(16_400)}</a>`, /more than/],
    ['', /no XML/],
  ] as const) {
    peer.traits.instead = { GetDeviceInformation: answer }
    await t.rejects(ask(), { code: 'onvif_broken', message }, answer.slice(0, 20))
  }
  peer.traits.instead = { GetDeviceInformation: 'cut off' }
  await t.rejects(ask(), { code: 'camera_unreachable', message: /broke off its answer/ })
  peer.traits.instead = { GetProfiles: '<a hasOwnProperty="1" b="2"/>' }
  await t.rejects((await open()).ask(peer.service, getProfiles(1)), { code: 'onvif_broken' })
})

t.test('a camera that is silent is left after its time, one that closes at once, and one that is away', async (t) => {
  const clock = fakeClock()
  const { ask, peer } = await stage(t, { instead: { GetSystemDateAndTime: 'silence' } }, clock)
  const left = t.rejects(ask(), { code: 'camera_unreachable', message: /within 1 min/ })
  await until('it is asked', () => peer.asked.length > 0)
  clock.advance(limits.answerMs)
  await left
  const client = createOnvifClient({ clock: systemClock, limits, userAgent: 'test' })
  await t.rejects(client.open(`http://${HOST}:1/onvif`, user), { code: 'camera_unreachable', message: /ECONNREFUSED/ })
  const html = await stage(t)
  html.peer.traits.instead = { GetDeviceInformation: '<html><body>Sign in</body></html>' }
  await t.rejects(html.ask(), { code: 'onvif_broken' })
})
