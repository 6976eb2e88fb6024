/** The picture that stays while the next film is on its way. */

/** Puts the picture that is shown on a canvas behind the video, so that nothing flashes between two films. */
export function keepStill(video: HTMLVideoElement, canvas: HTMLCanvasElement | null): void {
  if (!canvas || video.videoWidth === 0) return
  canvas.width = video.videoWidth
  canvas.height = video.videoHeight
  canvas.getContext('2d')?.drawImage(video, 0, 0)
}
