import t from 'tap'
import { alsaNameFault } from '../../../core/settings/setting.ts'

t.test('accepts the names ALSA uses, and an empty one', async (t) => {
  for (const name of ['', 'default', 'hw:1', 'plughw:0,0', 'default:CARD=Device', 'sysdefault:CARD=sndrpihifiberry'])
    t.equal(alsaNameFault(name), undefined, name)
})

t.test('refuses plugins that write a file, which are not cards', async (t) => {
  for (const name of ['file:board.toml,raw', 'tee:hw,out,raw', 'file'])
    t.match(alsaNameFault(name), /is no ALSA name/, name)
  t.equal(alsaNameFault('filecard'), undefined)
})

t.test('refuses a name that a pipeline could read as its own syntax, and says what a name looks like', async (t) => {
  for (const name of ['hw:1 ! filesink location=/tmp/x', '"', 'hw:1;', '-x', 'a/b', 'hw:1\n'])
    t.match(alsaNameFault(name), /is no ALSA name\. Names look like hw:1/, name)
})
