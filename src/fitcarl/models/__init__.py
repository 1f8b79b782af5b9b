"""Models: one folder each, behind the protocol of ``models/base.py``.

Adding a model:

1. ``models/NAME/``, a folder with everything of the model, and in it ``trainable.py`` with a class that has the
   members of ``TrainableModel`` (models/base.py): ``prepare`` makes what is needed before the first episode
   (embeddings, statistics; saved as named artifacts in the run folder), ``load`` reads it back, ``training_step``
   returns the loss of a task, ``scorer`` returns a scorer with the current weights, and ``with_graph``,
   ``with_capacity`` and ``refit_statistics`` move the model to another graph.
2. ``config/NAME.py``, a subclass of ``Config`` with the settings of the model. A setting that only other models have is
   rejected, and tests/config/test_every_setting.py requires an entry that shows an effect of each setting.
3. One line in ``CONFIGS`` (config/schema.py) and one in ``TRAINABLE`` (models/registry.py).

Training loop, checkpoints, evaluation, prediction, the command line and the service then support the model:
``fitcarl train DATA --model NAME``. A preset (config/presets.py) is optional.

A model without training is a class with ``name`` and ``score(task, queries)`` that is made from a dataset:
one file in ``models/heuristics/`` and one line in ``HEURISTIC``. ``models/factorization/`` holds score functions and
their trainer for several models; ``models/support.py`` builds padded support facts for all of them.
"""
