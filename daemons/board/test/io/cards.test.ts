/** Tests of how the sound cards of this machine are read. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { listCards } from '../../io/sound.ts'

t.test('the cards of a machine are those in /proc/asound', async (t) => {
  const folder = t.testdir({
    cards: ' 0 [Loopback       ]: Loopback - Loopback\n                      Loopback 1\n',
    pcm: '00-01: Loopback PCM : Loopback PCM : playback 8 : capture 8\n',
  })
  t.match(await listCards(folder), [{ alsa: 'hw:CARD=Loopback,DEV=1', plays: true, captures: true }])
})

t.test('a kernel without sound has no cards', async (t) => {
  t.same(await listCards(join(t.testdir({}), 'asound')), [])
})

t.test('a new card is there at the next look', async (t) => {
  const folder = join(t.testdir({}), 'asound')
  t.same(await listCards(folder), [])
  await mkdir(folder)
  await writeFile(join(folder, 'cards'), ' 3 [DAC            ]: USB-Audio - DAC\n')
  await writeFile(join(folder, 'pcm'), '03-00: USB Audio : USB Audio : playback 1\n')
  t.match(await listCards(folder), [{ index: 3, name: 'DAC, USB Audio' }])
})
