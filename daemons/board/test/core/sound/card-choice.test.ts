/** Tests of which sound card is chosen. */
import t from 'tap'
import { chooseCard } from '../../../core/sound/card.ts'
import { readSoundCards } from '../../../wire/sound-cards.ts'

const cards = readSoundCards(
  ` 0 [HDMI           ]: HDA-Intel - HDA Intel HDMI
 1 [Device         ]: USB-Audio - USB Sound Device
`,
  '00-03: HDMI 0 : HDMI 0 : playback 1\n01-00: USB Audio : USB Audio : playback 1 : capture 1\n',
)

t.test('if none is named the first suitable one is chosen', async (t) => {
  t.match(chooseCard(cards, '', 'plays'), { alsa: 'hw:CARD=HDMI,DEV=3', found: true })
  t.match(chooseCard(cards, '', 'captures'), { alsa: 'hw:CARD=Device,DEV=0', found: true })
})

t.test('if there is none it says so', async (t) => {
  t.throws(() => chooseCard([], '', 'plays'), { code: 'no_card', message: /has no sound card: plug one in/ })
  t.throws(() => chooseCard(cards.slice(0, 1), '', 'captures'), {
    code: 'no_card',
    message: /1 sound devices, and none that records/,
  })
})

t.test('a named card is chosen whether it is there or not, and has its friendly name while it is there', async (t) => {
  const name = 'USB Sound Device, USB Audio'
  for (const alsa of ['hw:1', 'hw:1,0', 'plughw:1,0', 'hw:Device', 'hw:CARD=Device,DEV=0', 'plughw:CARD=Device'])
    t.same(chooseCard(cards, alsa, 'plays'), { alsa, name, found: true }, alsa)
  t.same(chooseCard(cards, 'hw:7', 'plays'), { alsa: 'hw:7', name: 'hw:7', found: false })
  t.match(chooseCard(cards, 'hw:0,3', 'captures'), { found: false }, 'it is there, and does not record')
})

t.test('nothing is known of a name that is not itself a card', async (t) => {
  for (const alsa of ['default', 'dmix:1', 'pulse']) t.match(chooseCard(cards, alsa, 'plays'), { alsa, found: null })
})
