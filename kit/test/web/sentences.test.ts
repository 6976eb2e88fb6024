/** Tests of web/numbers.ts. */
import t from 'tap'
import { capital, ended, sentence } from '../../web/numbers.ts'

t.test(
  'a phrase that follows a name becomes a sentence with a capital and a full stop, and keeps its own ending',
  async (t) => {
    t.equal(capital('usb device'), 'Usb device')
    t.equal(capital(''), '')
    t.equal(ended('Not done: relay stuck'), 'Not done: relay stuck.')
    for (const text of ['Done.', 'Really?', 'Stop!']) t.equal(ended(text), text)
    t.equal(sentence('is taken'), 'Is taken.')
  },
)
