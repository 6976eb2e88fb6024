/** Lights and sirens of cameras by Dahua, over their HTTP interface, with a camera that speaks it on the loopback. */
import t from 'tap'
import { systemClock } from '#kit/clock.ts'
import type { CameraRecord } from '../../core/cameras/book.ts'
import { createDahuaOutputs } from '../../core/outputs/dahua-driver.ts'
import { createOnvifOutputs } from '../../core/outputs/onvif-driver.ts'
import { joinDrivers } from '../../core/outputs/outputs.ts'
import { createCameraWeb } from '../../io/camera-web.ts'
import { createOnvifClient } from '../../io/onvif-client.ts'
import { startOnvifPeer } from '../peer/onvif-camera.ts'

const REALM = 'Login to 3L05A1B2C3D4E5F6'
const parts = { clock: systemClock, limits: { answerMs: 5000, answerBytes: 65_536 }, userAgent: 'test' }
const driver = joinDrivers({
  onvif: createOnvifOutputs(createOnvifClient(parts)),
  dahua: createDahuaOutputs(createCameraWeb(parts)),
})

t.test('3A.outputs the light and the siren of a Dahua camera are found beside its relays, and switched', async (t) => {
  const on: Record<string, boolean> = { Speaker: false, WhiteLight: false }
  const dahua: { realm: string; on: typeof on; answers?: string } = { realm: REALM, on }
  const relays = [{ token: 'R1', isOn: false }]
  const peer = await startOnvifPeer(t, { host: '127.0.11.7', isFound: false, relays, dahua })
  const { password, username } = peer.traits.user
  const camera = { name: 'Yard', onvif: { service: peer.service }, username, password } as unknown as CameraRecord
  const found = await driver.find(camera)
  t.same(found, {
    list: [
      { id: 'R1', kind: 'relay', name: 'Relay 1', driver: 'onvif' },
      { id: 'dahua-light', kind: 'light', name: 'White light', driver: 'dahua' },
      { id: 'dahua-siren', kind: 'siren', name: 'Siren', driver: 'dahua' },
    ],
    notes: null,
  })
  const known = { ...camera, outputs: { probedAt: 1, ...found } }
  await driver.set(known, 'dahua-siren', true)
  t.same(on, { Speaker: true, WhiteLight: false })
  await driver.set(known, 'dahua-siren', false)
  await driver.set(known, 'dahua-light', true)
  await driver.set(known, 'R1', true)
  t.same(on, { Speaker: false, WhiteLight: true })
  t.equal(peer.traits.relays[0]?.isOn, true)
  dahua.answers = 'Error\r\n'
  await t.rejects(driver.set(known, 'dahua-light', false), {
    code: 'output_refused',
    message: 'The camera did not switch its white light (HTTP 200).',
  })
  delete dahua.answers
  on.Speaker = false
  delete on.Speaker
  t.match(
    (await driver.find(camera)).list.map(({ id }) => id),
    ['R1', 'dahua-light'],
    'one without a siren',
  )
  const stranger = { ...known, password: 'wrong' } as CameraRecord
  await t.rejects(driver.set(stranger, 'dahua-light', true), { code: 'camera_refused' })
  t.equal(peer.refused.filter((one) => one.endsWith('signed')).length, 1, 'a wrong password is tried once')
})

t.test('a camera by somebody else is not sent a password, and nothing is said of it', async (t) => {
  const peer = await startOnvifPeer(t, { host: '127.0.11.8', isFound: false, relays: [{ token: 'R1', isOn: false }] })
  const camera = { name: 'Yard', onvif: { service: peer.service }, ...peer.traits.user } as unknown as CameraRecord
  t.match(await driver.find(camera), { list: [{ id: 'R1' }], notes: null })
  t.same(
    peer.refused.filter((one) => one.includes('cgi-bin')),
    ['GET /cgi-bin/coaxialControlIO.cgi?action=getStatus&channel=1'],
  )
})

t.test('3A.outputs a relay is switched where the camera has it, not where it answers for nothing', async (t) => {
  const relays = [{ token: 'R1', isOn: false }]
  const peer = await startOnvifPeer(t, { host: '127.0.11.10', isFound: false, relays, areRelaysApart: true })
  const camera = { name: 'Yard', onvif: { service: peer.service }, ...peer.traits.user } as unknown as CameraRecord
  const found = await driver.find(camera)
  t.match(found, { list: [{ id: 'R1' }], notes: null })
  const known = { ...camera, outputs: { probedAt: 1, ...found } }
  await driver.set(known, 'R1', true)
  t.equal(peer.traits.relays[0]?.isOn, true)
  const asked = peer.asked.length
  await driver.set(known, 'R1', false)
  t.equal(peer.traits.relays[0]?.isOn, false)
  t.same(peer.asked.slice(asked), ['GetSystemDateAndTime', 'SetRelayOutputState'], 'where it is was learned')
  peer.traits.relays = []
  await t.rejects(driver.set({ ...known }, 'R1', true), { code: 'onvif_failed', message: /Look for its outputs again/ })
})

t.test('3A.outputs a Dahua camera that does not take the user says so in the notes', async (t) => {
  const dahua = { realm: REALM, on: { WhiteLight: false } }
  const peer = await startOnvifPeer(t, { host: '127.0.11.9', isFound: false, dahua, relays: [] })
  const web = createDahuaOutputs(createCameraWeb(parts))
  const camera = {
    name: 'Yard',
    onvif: { service: peer.service },
    username: 'x',
    password: 'y',
  } as unknown as CameraRecord
  t.match(await web.find(camera), { list: [], notes: /do not take the user of the camera/ })
})
