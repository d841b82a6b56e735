"""Programs that scripts/frameworks runs with TensorFlow: models of keras.applications with random weights, and a
U-Net of its layers, on arrays of zeros. TensorFlow is imported in the child that runs them. Each entry returns a
call of a tf.function."""
from program_registry import PROGRAMS, program


def inference(model, shape, dtype="float32"):
    import tensorflow as tf
    given = tf.zeros(shape, dtype)
    run = tf.function(lambda x: model(x, training=False))
    return lambda: run(given)


def training(model, shape, classes):
    """A step of stochastic gradient descent with momentum."""
    import keras
    import tensorflow as tf
    given, wanted = tf.zeros(shape), tf.zeros(shape[:1], tf.int64)
    optimizer = keras.optimizers.SGD(0.1, momentum=0.9)
    optimizer.build(model.trainable_variables)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            scores = model(x, training=True)
            loss = keras.losses.sparse_categorical_crossentropy(y, scores)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return lambda: step(given, wanted)


@program("backbone", "keras VGG16, batch 64 of 224 px, float32")
def vgg16_f32():
    import keras
    return inference(keras.applications.VGG16(weights=None), (64, 224, 224, 3))


@program("training", "keras ResNet50, batch 64 of 224 px, float32")
def resnet50_train_f32():
    import keras
    return training(keras.applications.ResNet50(weights=None), (64, 224, 224, 3), 1000)


def unet(spatial, channels, levels, width):
    """Two convolutions a level, pooling down, transposed convolutions up."""
    import keras
    from keras import layers
    rank = len(spatial)
    conv = {2: layers.Conv2D, 3: layers.Conv3D}[rank]
    pool = {2: layers.MaxPooling2D, 3: layers.MaxPooling3D}[rank]
    up = {2: layers.Conv2DTranspose, 3: layers.Conv3DTranspose}[rank]

    def twice(x, filters):
        for _ in range(2):
            x = conv(filters, 3, padding="same", activation="relu")(x)
        return x
    given = x = keras.Input((*spatial, channels))
    kept = []
    for level in range(levels):
        x = twice(x, width << level)
        kept.append(x)
        x = pool(2)(x)
    x = twice(x, width << levels)
    for level in reversed(range(levels)):
        x = up(width << level, 2, strides=2)(x)
        x = twice(layers.Concatenate()([kept[level], x]), width << level)
    return keras.Model(given, conv(2, 1)(x))


@program("segmentation", "U-Net of keras layers, 64 to 1024 channels, 4 x 512 px, float32")
def unet_f32():
    return inference(unet((512, 512), 3, 4, 64), (4, 512, 512, 3))


@program("segmentation 3-D", "U-Net of keras layers, 32 to 256 channels, 128x128x128, float32")
def unet3d_f32():
    return inference(unet((128, 128, 128), 1, 3, 32), (1, 128, 128, 128, 1))
