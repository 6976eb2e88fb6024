import t from 'tap'
import { isImageVersion } from '../../wire/firmware-image.ts'

t.test('a version is three numbers', async (t) => {
  for (const good of ['0.0.0', '2.0.13', '999999.0.1']) t.ok(isImageVersion(good), good)
  for (const bad of [
    '',
    '2',
    '2.0',
    '2.0.0.1',
    '02.0.0',
    '2.0.0-rc1',
    'v2.0.0',
    '2.0.1000000',
    '2.0.0\n',
    '2..0',
    '-1.0.0',
  ])
    t.notOk(isImageVersion(bad), JSON.stringify(bad))
})
