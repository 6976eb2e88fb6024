/** Tests of the parts of a pipeline that end in a sound card. */
import t from 'tap'
import { sinkFragment, sourceFragment } from '../../../core/sound/card.ts'

const card = { alsa: 'hw:CARD=Device,DEV=0', fillMs: 5, bufferMs: 20 }

t.test('sound to a card passes through the resampler that keeps the card on the clock', async (t) => {
  t.equal(
    sinkFragment(card),
    'plantroomdrift name=drift ! plantroomcardsink name=card device="hw:CARD=Device,DEV=0" fill-ms=5 buffer-ms=20',
  )
})

t.test('sound from a card does too, in as many channels as the stream has', async (t) => {
  const rest = ',layout=interleaved ! plantroomdrift name=drift'
  const begin =
    'plantroomcardsrc name=card device="hw:CARD=Device,DEV=0" fill-ms=5 buffer-ms=20 ! audio/x-raw,format=S32LE,rate=48000'
  t.equal(sourceFragment(card, 2), `${begin},channels=2${rest}`)
  t.equal(
    sourceFragment(card, 8),
    `${begin},channels=8,layout=interleaved,channel-mask=(bitmask)0x0 ! plantroomdrift name=drift`,
  )
})

t.test('the name of a card cannot inject anything into a pipeline', async (t) => {
  t.match(
    sinkFragment({ ...card, alsa: 'a" ! filesink location="/x\\' }),
    'device="a\\" ! filesink location=\\"/x\\\\" fill-ms',
  )
})
