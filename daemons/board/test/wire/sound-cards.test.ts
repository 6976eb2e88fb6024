/** Tests of the kernel's list of sound cards. */
import fc from 'fast-check'
import t from 'tap'
import { readSoundCards } from '../../wire/sound-cards.ts'

const CARDS = ` 0 [PCH            ]: HDA-Intel - HDA Intel PCH
                      HDA Intel PCH at 0xf7f10000 irq 33
 1 [Loopback       ]: Loopback - Loopback
                      Loopback 1
12 [Device         ]: USB-Audio - USB Sound Device
                      C-Media USB Sound Device at usb-0000:00:14.0-2, full speed
`
const PCM = `00-00: ALC269VC Analog : ALC269VC Analog : playback 1 : capture 1
00-03: HDMI 0 : HDMI 0 : playback 1
01-00: Loopback PCM : Loopback PCM : playback 8 : capture 8
12-01: USB Audio : USB Audio : capture 1
`

t.test('each device of each card is listed, with a stable name and a friendly one', async (t) => {
  t.same(
    readSoundCards(CARDS, PCM).map(({ alsa, name, plays, captures }) => [alsa, name, plays, captures]),
    [
      ['hw:CARD=PCH,DEV=0', 'HDA Intel PCH, ALC269VC Analog', true, true],
      ['hw:CARD=PCH,DEV=3', 'HDA Intel PCH, HDMI 0', true, false],
      ['hw:CARD=Loopback,DEV=0', 'Loopback, Loopback PCM', true, true],
      ['hw:CARD=Device,DEV=1', 'USB Sound Device, USB Audio', false, true],
    ],
  )
  t.match(readSoundCards(CARDS, PCM)[3], { index: 12, id: 'Device', device: 1 })
})

t.test('a machine without cards has none, and a device without its card is left out', async (t) => {
  t.same(readSoundCards('--- no soundcards ---\n', ''), [])
  t.same(readSoundCards('', PCM), [])
})

t.test('a device with the name of its card is named once', async (t) => {
  const [only] = readSoundCards(
    ' 0 [A              ]: USB-Audio - Fancy DAC\n',
    '00-00: Fancy DAC : Fancy DAC : playback 1\n',
  )
  t.equal(only?.name, 'Fancy DAC')
})

t.test('anything that is not such a list gives none, and never throws', async (t) => {
  fc.assert(
    fc.property(fc.string({ maxLength: 200 }), fc.string({ maxLength: 200 }), (cards, pcm) => {
      readSoundCards(cards, pcm)
      readSoundCards(CARDS.slice(0, cards.length) + cards, PCM.slice(0, pcm.length) + pcm)
    }),
  )
  t.equal(readSoundCards(CARDS, '00-00: a : b : playback 1\n'.repeat(1000)).length, 64, 'and is limited')
})
