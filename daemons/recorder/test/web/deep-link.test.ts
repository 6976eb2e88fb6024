/** Links by which other systems lead a person to a page. */
import t from 'tap'
import { deepLink, eventPlace } from '../../web/deep-link.ts'

const wordsOf = (link: string) => {
  const { pathname, searchParams } = new URL(link, 'http://box')
  return deepLink(pathname, searchParams)
}

t.test('3A.deep links lead to a moment, an event and a camera', async (t) => {
  for (const [link, words] of [
    ['/playback?camera=0000000a&at=1700000000000', ['playback', '0000000a', '1700000000000']],
    ['/playback?camera=0000000a', ['playback', '0000000a']],
    ['/playback?at=1700000000000', ['playback']],
    ['/events?event=0000000a-1700000000000-3', ['events', '0000000a-1700000000000-3']],
    ['/events', ['events']],
    ['/?camera=0000000a', ['camera', '0000000a']],
    ['/', undefined],
    ['/?at=1', undefined],
  ] as const)
    t.same(wordsOf(link), words, link)
})

t.test('an event is looked for at its camera, when it began', async (t) => {
  t.same(eventPlace('0000000a-1700000000000-3'), { camera: '0000000a', beganAt: 1_700_000_000_000 })
  for (const id of ['', '0000000a', '0000000a-1', 'x-1-1', '0000000a-1-1-1']) t.equal(eventPlace(id), undefined, id)
})
