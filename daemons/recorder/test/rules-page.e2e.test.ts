/** Rules, buttons, alerts and outputs on the recorder's pages, in a browser. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { startDaemon, stateFolderOf } from '#kit/test/running-daemon.ts'
import { until } from '#kit/test/until.ts'
import { focusIs, noBrowser, openRig, play, type Rig, type Scene } from '#kit/test/web/page-rig.ts'
import { writeWav } from '../wire/wav.ts'
import { LONG_MS, makeFootage, startSpeakingCamera } from './camera.ts'
import { admin, type Client, clientOf } from './client.ts'
import { cameraTurn, type OnvifPeer, startOnvifPeer } from './peer/onvif-camera.ts'
import { PtzSimulator } from './peer/ptz-simulator.ts'

const login = { username: 'onvif', password: 'pass&word' }

interface Stage extends Rig {
  boss: Client
  yard: string
  peer: OnvifPeer
}

const scenes: Scene<Stage>[] = [
  ['says that there are no buttons, and how to make one', none],
  ['looks at a camera for its outputs, and switches one', outputs],
  ['takes a WAV file as a message, and has a camera say it', speaks],
  ['makes a rule that reads like a sentence, and says at its field what is refused', makes],
  ['presses the button, and shows what came of it', presses],
  ['makes a rule that turns cameras, speaks and arms others, and says what is not chosen', turns],
  ['changes a rule without its secret, disarms it, and asks before it is removed', changes],
]

t.test('rules on the page', { skip: noBrowser }, async (t) => {
  const work = stateFolderOf(t)
  const film = await startSpeakingCamera(t, await makeFootage(work, 10), login, join(work, 'heard.s16'))
  await cameraTurn(t)
  const relays = [{ token: 'Siren', isOn: false }]
  const presets = new Map([['1', { name: 'Gate', pan: 5, tilt: 0, zoom: 0 }]])
  const ptz = new PtzSimulator({ keepsTimeout: false, degPerS: 60, presets })
  const rtspPort = Number(new URL(film.url).port)
  const peer = await startOnvifPeer(t, { host: '127.0.7.9', rtspPort, relays, ptz })
  const sets = ['discovery.interface=lo', 'discovery.wait_ms=1000', 'storage.free_bytes=0', 'time_server.enabled=false']
  const recorder = await startDaemon(t, 'recorder', { stateFolder: join(work, 'state'), sets })
  const boss = clientOf(recorder.url)
  await boss.setUp()
  await boss.call('PATCH', '/api/onboarding', { step: 'complete' })
  const scan = async () => (await boss.call('POST', '/api/discovery/scan')).body.found.length > 0
  await until('it is found', scan, LONG_MS)
  const [found] = (await boss.call('GET', '/api/discovery')).body.found
  const yard = (await boss.call('POST', `/api/discovery/${found.id}/adopt`, { ...login, name: 'Yard' })).body.id
  const rig = await openRig(t, recorder.url, { pictures: 'recorder' })
  await play<Stage>(t, { ...rig, boss, yard, peer }, scenes)
})

async function none(t: Test, { audit, page, visit }: Stage): Promise<void> {
  await page.getByLabel('User name').fill(admin.username)
  await page.getByLabel('Password').fill(admin.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('link', { name: 'Buttons and alerts' }).first().click()
  await page.getByText('No buttons').waitFor()
  await page.getByText('No alerts yet').waitFor()
  await visit('rules')
  await page.getByText('No rules yet').waitFor()
  await audit(t, 'rules-none')
}

async function outputs(t: Test, { audit, page, peer, visit, yard }: Stage): Promise<void> {
  await visit('camera', yard)
  await page.getByText('Nobody has looked yet').waitFor()
  await page.getByRole('button', { name: 'Look for outputs' }).click()
  await page.getByText('Yard was asked.').waitFor()
  await page.getByRole('button', { name: '10 s: Siren' }).click()
  await page.getByText(/^on until/).waitFor()
  t.equal(peer.traits.relays[0]?.isOn, true)
  await page.getByRole('button', { name: 'Off: Siren' }).click()
  await page.getByRole('button', { name: 'On: Siren' }).waitFor()
  await page.getByRole('button', { name: 'Listen', exact: true }).click()
  await page.getByText('Its own events: listened to').waitFor()
  await audit(t, 'camera-outputs')
}

async function speaks(t: Test, { audit, boss, page, visit, yard }: Stage): Promise<void> {
  await visit('messages')
  await page.getByText('No messages yet').waitFor()
  await audit(t, 'messages-none')
  await page.getByRole('link', { name: 'From a text' }).click()
  await page.getByRole('button', { name: 'Add message' }).click()
  await focusIs(page, 'name', 'name')
  await audit(t, 'message-refused')
  await page.getByRole('link', { name: 'From a file' }).click()
  const sound = Int16Array.from({ length: 4000 }, (_, at) => 9000 * Math.sin(at / 5))
  const file = (name: string, bytes: Uint8Array) => ({ name, mimeType: 'audio/wav', buffer: Buffer.from(bytes) })
  await page.locator('input[type=file]').setInputFiles(file('Leave now.wav', new TextEncoder().encode('ID3 a song')))
  await page.getByRole('button', { name: 'Add message' }).click()
  await page.getByText(/Save the sound as WAV/).waitFor()
  await page.locator('input[type=file]').setInputFiles(file('Leave now.wav', writeWav(sound)))
  await page.getByRole('button', { name: 'Add message' }).click()
  await page.getByText('0.5 s', { exact: true }).waitFor()
  t.match((await boss.call('GET', '/api/talk/messages')).body, [{ name: 'Leave now', source: 'file', seconds: 0.5 }])
  await page.evaluate("document.querySelector('audio').preload = 'auto'")
  const seconds = () => page.evaluate<number>("document.querySelector('audio').duration")
  await until('it can be listened to', async () => (await seconds()) === 0.5, LONG_MS)
  await page.getByRole('link', { name: 'From a text' }).click()
  await page.getByLabel('Name').fill('Closing')
  await page.getByLabel('What is said').fill('We close in ten minutes.')
  await page.getByRole('button', { name: 'Add message' }).click()
  await page.getByText(/We close in ten minutes\./).waitFor()
  const { body: both } = await boss.call('GET', '/api/talk/messages')
  t.match(
    both.find(({ name }: { name: string }) => name === 'Closing'),
    { source: 'speech' },
  )
  await audit(t, 'messages')
  await visit('camera', yard)
  await page.getByRole('button', { name: 'Ask for its loudspeaker' }).click()
  await page.getByRole('button', { name: 'Speak now' }).click()
  await page.getByText('Yard speaks for 1 s.').waitFor()
  await audit(t, 'camera-speaks')
}

async function turns(t: Test, { audit, boss, page, visit, yard }: Stage): Promise<void> {
  await visit('rules', 'new')
  await page.getByLabel('Name of the rule').fill('Look there')
  await page.getByLabel('Happens').selectOption('unusual')
  await page.getByLabel('How many', { exact: true }).selectOption('more')
  await page.getByLabel('a person').check()
  await page.getByLabel('1. action').selectOption('ptz_preset')
  for (const [nth, type] of ['ptz_aim', 'talk_message', 'arm', 'notify'].entries()) {
    await page.getByRole('button', { name: 'Add action' }).click()
    await page.getByLabel(`${nth + 2}. action`).selectOption(type)
  }
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Choose a message.').waitFor()
  await focusIs(page, 'name', 'a0.camera')
  await audit(t, 'rule-unchosen')
  for (const at of [0, 1, 2]) await page.locator(`select[name="a${at}.camera"]`).selectOption({ label: 'Yard' })
  await page.getByLabel('Preset', { exact: true }).selectOption({ label: 'Gate' })
  await page.locator('select[name="a0.back"]').selectOption({ label: 'Gate' })
  await page.locator('input[name="a0.backAfter"]').fill('3')
  await page.getByLabel('Message').selectOption({ label: 'Leave now' })
  await page.getByLabel('How often').selectOption('2')
  await page.getByRole('checkbox', { name: 'Scare them off' }).check()
  await page.locator('input[name="a4.users"]').first().check()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('is 3, expected a whole number from 5 to 3600').waitFor()
  await page.locator('input[name="a0.backAfter"]').fill('30')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText(/It is not known how Yard stands on the plan/).waitFor()
  await focusIs(page, 'name', 'a1.type')
  await audit(t, 'rule-turns')
  await page.getByRole('button', { name: 'Leave out action 2' }).click()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('When a person is seen more or less often than usual,').waitFor()
  const rule = (await boss.call('GET', '/api/action-rules')).body.find(
    (one: { name: string }) => one.name === 'Look there',
  )
  const [scare] = (await boss.call('GET', '/api/action-rules')).body
  const [me] = (await boss.call('GET', '/api/accounts')).body
  t.match(rule, {
    trigger: { type: 'unusual', direction: 'more', minutes: 60, sensitivity: 'medium' },
    groups: ['person'],
    actions: [
      { type: 'ptz_preset', cameraId: yard, preset: '1', returnPreset: '1', returnAfterSeconds: 30 },
      { type: 'talk_message', cameraId: yard, repeat: 2 },
      { type: 'arm', ruleIds: [scare.id] },
      { type: 'notify', userIds: [me.id] },
    ],
  })
  await page.getByRole('link', { name: 'Look there' }).click()
  await page.getByLabel('Preset', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Remove rule' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove rule' }).click()
  await page.getByText('Look there is removed.').waitFor()
}

async function makes(t: Test, { audit, page, visit }: Stage): Promise<void> {
  await visit('rules')
  await page.getByRole('link', { name: 'New rule' }).click()
  await page.getByLabel('Name of the rule').fill('Scare them off')
  await page.getByLabel('1. action').selectOption('output')
  await page.getByLabel('Output').selectOption({ label: 'Yard: Siren' })
  await page.getByLabel('For', { exact: true }).fill('900')
  await page.getByRole('button', { name: 'Add action' }).click()
  await page.getByLabel('2. action').selectOption('webhook')
  await page.getByLabel('Address').fill('http://127.0.0.1:1/hook')
  await page.getByLabel('Secret').fill('not to be seen')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('is 900, expected a whole number from 1 to 300').waitFor()
  await focusIs(page, 'name', 'a0.seconds')
  await audit(t, 'rule-refused')
  await page.getByLabel('For', { exact: true }).fill('20')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('When its button is pressed, it switches an output and tells a webhook.').waitFor()
  await audit(t, 'rules')
}

async function presses(t: Test, { audit, page, peer, visit }: Stage): Promise<void> {
  await visit('actions')
  await page.getByRole('button', { name: 'Scare them off' }).click()
  await page.getByText('admin pressed the button.').waitFor()
  await page.getByText('On for 20 s.').waitFor()
  await page.getByText(/^Not taken/).waitFor()
  t.equal(peer.traits.relays[0]?.isOn, true)
  await audit(t, 'actions')
}

async function changes(t: Test, { audit, boss, page, visit }: Stage): Promise<void> {
  await visit('rules')
  await page.getByRole('link', { name: 'Scare them off' }).click()
  await page.getByLabel('Happens').selectOption('camera_event')
  await page.getByLabel('Tampering').check()
  await page.getByText('At any time').click()
  await page.getByRole('button', { name: 'Leave out action 1' }).click()
  await audit(t, 'rule-edit')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('When the camera claims something, it tells a webhook.').waitFor()
  const [rule] = (await boss.call('GET', '/api/action-rules')).body
  t.match(rule, {
    trigger: { type: 'camera_event', kinds: ['tamper'] },
    schedule: { days: [0, 1, 2, 3, 4, 5, 6], from: '22:00', to: '06:00' },
    actions: [{ type: 'webhook', url: 'http://127.0.0.1:1/hook', hasSecret: true }],
  })
  t.notMatch(await page.content(), /not to be seen/)
  await page.getByRole('button', { name: 'Disarm Scare them off' }).click()
  await page.getByText('disarmed', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'Scare them off' }).click()
  await page.getByRole('button', { name: 'Remove rule' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove rule' }).click()
  await page.getByText('No rules yet').waitFor()
}
