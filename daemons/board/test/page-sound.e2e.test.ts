/** Pages and matrix over a real encoder and a real decoder that found each other: a tone is routed by a click. */
import t, { type Test } from 'tap'
import { countIs, noBrowser, openRig, play, type Rig } from '#kit/test/web/page-rig.ts'
import { gstMissing } from '#native/node-gst/test/gst-here.ts'
import { type RunningBoard, setUp, startBoard } from './running-board.ts'

interface Stage extends Rig {
  encoder: RunningBoard
  decoder: RunningBoard
  /** The names of both: other boards on this machine can be found too. */
  names: { encoder: string; decoder: string }
}

const LOOPBACK = [
  'ptp.enabled=false',
  'audio.interface=lo',
  'audio.ttl=1',
  'streams.sap_ttl=1',
  'streams.ravenna=false',
]

t.test('B.encoder B.decoder pages of sound', { skip: noBrowser || gstMissing() }, async (t) => {
  const names = { encoder: `Rack ${process.pid}`, decoder: `Ceiling ${process.pid}` }
  const [encoder, decoder] = await Promise.all([
    startBoard(t, { sets: [...LOOPBACK, 'board.role=encoder', 'audio.source=tone'] }),
    startBoard(t, { sets: [...LOOPBACK, 'board.role=decoder', 'audio.sink=null'] }),
  ])
  await setUp(decoder, { name: names.decoder, mcast: '', link_ms: '200' })
  // After it, so that the decoder hears its first announcement: the next one comes half a minute later.
  await setUp(encoder, { name: names.encoder })
  const rig = await openRig(t, encoder.url, { wanted: /net::ERR_|WebSocket|CORS|blocked/ })
  rig.page.context().setDefaultTimeout(30_000)
  await play<Stage>(t, { ...rig, encoder, decoder, names }, [
    ['the encoder shows its tone in moving meters, and what it sends', encodes],
    ['the matrix routes it to the decoder, and says that it plays', routes],
    ['the decoder shows the chain, the level and the stream, and is turned down', decodes],
    ['a mute is said as the reason of silence', mutes],
  ])
})

async function encodes(t: Test, { page, names, audit, strangers }: Stage): Promise<void> {
  await page.getByText(`Sends ${names.encoder} to`).waitFor()
  await page
    .locator('.meters output', { hasText: /−\d+\.\d/ })
    .first()
    .waitFor()
  await page.getByText('Packet spacing').waitFor()
  await audit(t, 'encoder-real', 'unpictured')
  strangers.length = 0
}

async function routes(_t: Test, { page, names, strangers, visit }: Stage): Promise<void> {
  await visit('matrix')
  await page.getByRole('button', { name: `${names.encoder} to ${names.decoder}`, exact: true }).click()
  await page.getByText(`${names.decoder} now plays ${names.encoder}.`).waitFor()
  await page.getByRole('button', { name: `${names.encoder} to ${names.decoder}: playing` }).waitFor()
  await page.locator('.verdict', { hasText: /routed decoders? plays?\./ }).waitFor()
  strangers.length = 0
}

async function decodes(t: Test, { page, decoder, names, audit, strangers }: Stage): Promise<void> {
  await page.goto(decoder.url)
  await page.getByText(`Playing ${names.encoder} from`).waitFor()
  await countIs(page.locator('.chain li'), 9)
  await page
    .locator('.meters output', { hasText: /−\d+\.\d/ })
    .first()
    .waitFor()
  await page.getByRole('button', { name: `Stop ${names.encoder}` }).waitFor()
  await page.getByText('Packet arrival').waitFor()
  await page.getByRole('button', { name: '1 dB down' }).click()
  await page.locator('.fader').getByText('−1.0').waitFor()
  t.equal((await decoder.get('/api/volume')).body.volume_db, -1)
  await audit(t, 'decoder-real', 'unpictured')
  strangers.length = 0
}

async function mutes(t: Test, { page, decoder, strangers }: Stage): Promise<void> {
  await page.locator('#main').focus()
  await page.keyboard.press('m')
  await page.locator('.chain.down').getByText('It is muted.').waitFor()
  t.equal((await decoder.get('/api/mute')).body.mute, true)
  await page.keyboard.press('.')
  await page.getByText('Nothing is played now.').waitFor()
  t.equal((await decoder.get('/api/route')).body.mcast, '')
  strangers.length = 0
}
