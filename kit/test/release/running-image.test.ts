/** The image that a board runs. */
import { t } from 'tap'
import { imageVersion, readOutcome } from '../../release/running-image.ts'

t.test('B.ota the version of the image is that of os-release, as shells would read it', async (t) => {
  const rows: [text: string, version: string | undefined][] = [
    ['ID=debian\nIMAGE_VERSION=2.1.0\n', '2.1.0'],
    ['IMAGE_VERSION="2.1.0"', '2.1.0'],
    ["IMAGE_VERSION='2.1.0' \n", '2.1.0'],
    ['#IMAGE_VERSION=2.1.0\n', undefined],
    ['OLD_IMAGE_VERSION=2.1.0\n', undefined],
    ['IMAGE_VERSION=2.1\n', undefined],
    ['IMAGE_VERSION="2.1.0\n', undefined],
    ['IMAGE_VERSION=\n2.1.0', undefined],
    ['', undefined],
  ]
  const folder = t.testdir(Object.fromEntries(rows.map(([text], at) => [String(at), text])))
  for (const [at, [text, version]] of rows.entries()) t.equal(imageVersion(`${folder}/${at}`), version, text)
  t.equal(imageVersion('/nowhere'), undefined)
})

t.test('what became of an update is read, and anything else is nothing', async (t) => {
  const outcome = { result: 'fell_back', version: '2.0.0', runs: '1.0.0', why: 'plantroom-board is failed', at: 5 }
  const folder = t.testdir({
    whole: JSON.stringify(outcome),
    cut: JSON.stringify(outcome).slice(0, 40),
    other: JSON.stringify({ ...outcome, result: 'fine' }),
  })
  t.same(await readOutcome(`${folder}/whole`), outcome)
  for (const name of ['cut', 'other', 'missing']) t.equal(await readOutcome(`${folder}/${name}`), null, name)
})
