/** Tests of the shortcuts of every page. */
import t from 'tap'
import { useEverywhereKeys } from '#kit/web/keys.ts'

t.test('two pages with one letter are refused when the navigation is drawn', async (t) => {
  const pages = [
    { word: 'plan', label: 'Floor plan', key: 'f' },
    { word: 'zones', label: 'Zones', key: 'z' },
    { word: 'favourites', label: 'Favourites', key: 'f' },
  ]
  t.throws(() => useEverywhereKeys(pages), /same letter twice/)
})
