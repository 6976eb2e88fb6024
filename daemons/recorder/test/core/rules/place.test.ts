import t from 'tap'
import { cameraAt } from '../../../core/rules/place.ts'

t.test(
  '3A.authentication.7 a fault is told of the camera that it is at, and of none with a similar name',
  async (t) => {
    const camera = (id: string, name: string) => ({ id, name })
    const [yard, north, twin] = [camera('a', 'Yard'), camera('b', 'Yard, north'), camera('c', 'Yard, north')]
    const at = (where: string, ...cameras: { id: string; name: string }[]) => cameraAt({ where }, cameras)?.id
    for (const cameras of [
      [yard, north],
      [north, yard],
    ]) {
      t.equal(at('Yard', ...cameras), 'a')
      t.equal(at('Yard, relay1', ...cameras), 'a')
      t.equal(at('Yard, north', ...cameras), 'b')
      t.equal(at('Yard, north, relay1', ...cameras), 'b')
      t.equal(at('Yard2', ...cameras), undefined)
    }
    t.equal(at('Yard, north', yard, north, twin), undefined, 'of two with one name it is not known')
    t.equal(at('storage', yard), undefined)
  },
)
