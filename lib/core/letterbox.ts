// Contract; the implementation replaces this file.
export interface LetterboxOptions {
  /** Where the resized picture lies: in the middle (Ultralytics), in the top-left corner (YOLOX), or filling the input with its aspect ratio lost. */
  readonly placement: 'centre' | 'top-left' | 'stretch';
  /** Whether a picture smaller than the input is enlarged. Defaults to true. */
  readonly scaleUp?: boolean;
  /** Level of the border, 0..255. Defaults to 114. */
  readonly padValue?: number;
}

/** The placement of one picture in the model's input; used forwards and inverted, never derived again. */
export interface Letterbox {
  readonly imageWidth: number;
  readonly imageHeight: number;
  readonly inputWidth: number;
  readonly inputHeight: number;
  readonly resizedWidth: number;
  readonly resizedHeight: number;
  /** Left border, in input pixels. */
  readonly padX: number;
  /** Top border, in input pixels. */
  readonly padY: number;
  readonly padValue: number;
}
