import t from 'tap'
import { readSwitch, SWITCH_WORDS } from '#kit/pure/text.ts'

t.test('a switch accepts the words that people write, and no others', async (t) => {
  for (const text of ['1', 'true', 'on', 'yes', 'YES', 'True', ' on ']) t.equal(readSwitch(text), true, text)
  for (const text of ['0', 'false', 'off', 'no', 'Off', 'NO\n']) t.equal(readSwitch(text), false, text)
  for (const text of ['', ' ', 'maybe', '2', '-1', 'y', 'o n', 'constructor', '__proto__', '１'])
    t.equal(readSwitch(text), undefined, text)
})

t.test('the words that the error sentence offers are the ones that are accepted', async (t) => {
  for (const word of SWITCH_WORDS.match(/\w+/g) ?? []) if (word !== 'or') t.type(readSwitch(word), 'boolean', word)
})
